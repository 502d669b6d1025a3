/* A host in C of a saved graph: records 2x + w, saves it to FILE, loads and runs it, alone and by several threads, and gives it what it cannot
 * take. Prints one line a step: an error as "what: code message".
   usage: graph_host FILE DAMAGED_COPY */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/graph.h>
#include <tenon/tenon.h>

enum { THREADS = 4, RUNS = 500, MAX_FILE = 1 << 16 };

static char whole[MAX_FILE];
static size_t whole_size;

static tn_str str(const char* text) { return (tn_str){text, strlen(text)}; }

static void check(tn_status* status) {
  if (status == NULL) return;
  printf("error: %.*s\n", (int)tn_status_message(status).size, tn_status_message(status).data);
  exit(1);
}

static void tell(const char* what, tn_status* status) {
  const tn_str message = tn_status_message(status);
  printf("%s: %u %.*s\n", what, tn_status_code(status), (int)message.size, message.data);
  tn_status_release(status);
}

static tn_tensor* number(float x) {
  const int64_t shape[] = {1};
  tn_tensor* made = NULL;
  check(tn_tensor_from_host(&x, sizeof x, TN_DTYPE_F32, 1, shape, NULL, &made));
  return made;
}

static tn_tensor* call(const char* name, tn_tensor* x, tn_tensor* y) {
  const tn_value args[] = {{.tag = TN_VALUE_TENSOR, .as.tensor = x},
                           {.tag = TN_VALUE_TENSOR, .as.tensor = y}};
  const tn_op* op = NULL;
  tn_tensor* result = NULL;
  check(tn_op_require(str(name), &op));
  check(tn_op_call(op, args, 2, &result, 1));
  return result;
}

static void record(const char* path) {
  tn_trace* trace = NULL;
  tn_program* program = NULL;
  tn_tensor *like = number(0), *w = number(1), *x = NULL;
  check(tn_trace_begin(&trace));
  check(tn_trace_input(trace, like, str("x"), &x));
  check(tn_trace_name(trace, w, str("w")));
  tn_tensor* doubled = call("add", x, x);
  tn_tensor* result = call("add", doubled, w);
  check(tn_trace_end(trace, &result, 1, NULL, &program));
  check(tn_program_save(program, str(path)));
  tn_program_release(program);
  tn_tensor* owned[] = {like, w, x, doubled, result};
  for (int i = 0; i < 5; ++i) tn_tensor_release(owned[i]);
}

static void* run_often(void* program) {
  for (int i = 0; i < RUNS; ++i) {
    tn_tensor *x = number((float)i), *y = NULL;
    check(tn_program_run(program, &x, 1, &y, 1));
    if (*(float*)tn_tensor_data(y) != 2 * (float)i + 1) return program;
    tn_tensor_release(x);
    tn_tensor_release(y);
  }
  return NULL;
}

static void run_in_threads(tn_program* program) {
  pthread_t threads[THREADS];
  int wrong = 0;
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, run_often, program);
  for (int i = 0; i < THREADS; ++i) {
    void* found = NULL;
    pthread_join(threads[i], &found);
    wrong += found != NULL;
  }
  printf("threads: %d wrong\n", wrong);
}

static void give_wrong_inputs(tn_program* program) {
  const int64_t sizes[] = {2, 1, 1};
  const struct {
    const char* what;
    tn_dtype dtype;
    uint32_t ndim;
  } kinds[] = {
      {"dtype", TN_DTYPE_F64, 1}, {"rank 0", TN_DTYPE_F32, 0}, {"rank 3", TN_DTYPE_F32, 3}};
  tn_tensor *pair[] = {number(1), number(2)}, *result = NULL, *wrong = NULL;
  for (int i = 0; i < 3; ++i) {
    check(tn_tensor_empty(kinds[i].dtype, kinds[i].ndim, sizes, NULL, &wrong));
    tell(kinds[i].what, tn_program_run(program, &wrong, 1, &result, 1));
    tn_tensor_release(wrong);
  }
  wrong = NULL;
  tell("NULL", tn_program_run(program, &wrong, 1, &result, 1));
  tell("two inputs", tn_program_run(program, pair, 2, &result, 1));
  tell("no result", tn_program_run(program, pair, 1, NULL, 0));
  for (int i = 0; i < 2; ++i) tn_tensor_release(pair[i]);
}

static tn_status* load_as(const char* path, const char* data, size_t size) {
  tn_program* program = NULL;
  FILE* file = fopen(path, "wb");
  if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) exit(2);
  tn_status* status = tn_program_load(str(path), NULL, &program);
  if (status == NULL) tn_program_release(program);
  return status;
}

static void damage(const char* path, const char* copy) {
  FILE* file = fopen(path, "rb");
  whole_size = file != NULL ? fread(whole, 1, MAX_FILE, file) : 0;
  if (whole_size == 0 || whole_size == MAX_FILE || fclose(file) != 0) exit(2);
  size_t refused = 0;
  for (size_t size = 0; size < whole_size; ++size) {
    tn_status* status = load_as(copy, whole, size);
    refused += tn_status_code(status) == TN_DATA_LOSS;
    tn_status_release(status);
  }
  printf("cut anywhere: %s\n", refused == whole_size ? "refused" : "taken");
  tell("cut", load_as(copy, whole, whole_size - 1));
  whole[whole_size - 2] = '9'; /* the end of the file is "version":1} */
  tell("version", load_as(copy, whole, whole_size));
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  tn_program* program = NULL;
  record(argv[1]);
  check(tn_program_load(str(argv[1]), NULL, &program));
  run_in_threads(program);
  give_wrong_inputs(program);
  damage(argv[1], argv[2]);
  tn_program_release(program);
  tell("gone", tn_program_load(str("nowhere"), NULL, &program));
  return 0;
}
