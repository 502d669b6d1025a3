/* A host with its own OpenMP runtime (it is built with clang, so LLVM's), whose parallel regions alternate with ops of Tenon, enclose
 * them, and run beside them. Prints "ok" or what went wrong. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>

enum { N = 256, ROUNDS = 20, TEAM = 3 };

static tn_str str(const char* text) { return (tn_str){text, strlen(text)}; }

static void check(tn_status* status) {
  if (status == NULL) return;
  printf("error: %.*s\n", (int)tn_status_message(status).size, tn_status_message(status).data);
  exit(1);
}

static tn_tensor* call(const char* name, tn_tensor* x, tn_tensor* y) {
  const tn_value args[] = {{.tag = TN_VALUE_TENSOR, .as.tensor = x},
                           {.tag = TN_VALUE_TENSOR, .as.tensor = y}};
  tn_tensor* result = NULL;
  check(tn_op_call(tn_op_find(str(name)), args, y == NULL ? 1 : 2, &result, 1));
  return result;
}

/* Σ over all elements of x @ y by Tenon; the matmul is large enough for a team of threads. */
static double product_sum(const float* x, const float* y) {
  const int64_t shape[] = {N, N};
  tn_tensor *a = NULL, *b = NULL;
  check(tn_tensor_from_host(x, N * N * sizeof(float), TN_DTYPE_F32, 2, shape, NULL, &a));
  check(tn_tensor_from_host(y, N * N * sizeof(float), TN_DTYPE_F32, 2, shape, NULL, &b));
  tn_tensor* product = call("matmul", a, b);
  tn_tensor* doubled = call("add", product, product);
  tn_tensor* total = call("sum", doubled, NULL);
  float result = 0;
  check(tn_tensor_to_host(total, &result, sizeof result));
  tn_tensor* owned[] = {a, b, product, doubled, total};
  for (int i = 0; i < 5; ++i) tn_tensor_release(owned[i]);
  return result / 2;
}

/* The same with the host's own threads, and how many there were. */
static double host_sum(const float* x, const float* y, int* team) {
  double total = 0;
  int threads = 0;
#pragma omp parallel for num_threads(TEAM) reduction(+ : total) reduction(max : threads)
  for (int k = 0; k < N; ++k) {
    double left = 0, right = 0;
    for (int i = 0; i < N; ++i) left += x[i * N + k], right += y[k * N + i];
    total += left * right;
    threads = omp_get_num_threads();
  }
  *team = threads;
  return total;
}

static int is_loaded(const char* library) {
  char line[4096];
  int found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    found |= strstr(line, library) != NULL;
  if (maps != NULL) fclose(maps);
  return found;
}

int main(void) {
  static float x[N * N], y[N * N];
  for (int i = 0; i < N * N; ++i) x[i] = (float)(i % 7) / 8, y[i] = (float)(i % 5) / 4;
  omp_set_dynamic(0);
  int wrong = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    int team = 0;
    const double expected = host_sum(x, y, &team), got = product_sum(x, y);
    if (team != TEAM) ++wrong, printf("round %d: a team of %d, not %d\n", round, team, TEAM);
    if (fabs(got - expected) > 1e-4 * expected)
      ++wrong, printf("round %d: %g, not %g\n", round, got, expected);
#pragma omp parallel num_threads(TEAM) reduction(+ : wrong)
    {
      const double inside = product_sum(x, y);
      if (fabs(inside - expected) > 1e-4 * expected)
        ++wrong, printf("round %d inside a team: %g, not %g\n", round, inside, expected);
    }
  }
  if (!is_loaded("libomp")) ++wrong, printf("the host's own OpenMP runtime is not there\n");
  if (!is_loaded("libgomp")) ++wrong, printf("the CPU plugin's OpenMP runtime is not there\n");
  printf("%s\n", wrong == 0 ? "ok" : "failed");
  return wrong != 0;
}
