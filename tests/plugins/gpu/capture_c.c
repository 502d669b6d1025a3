/* Graphs from C (tenon/capture.h): a step recorded once and replayed over other inputs, random numbers, misuse.
 * usage: capture_c DEVICE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/tenon.h"

#define N 5

static tn_str str(const char* text) { return (tn_str){text, strlen(text)}; }

static void fail(const char* what) {
  fprintf(stderr, "FAILED: %s\n", what);
  exit(1);
}
static void expect(int condition, const char* what) {
  if (!condition) fail(what);
}
static void check(tn_status* status) {
  if (status == NULL) return;
  const tn_str message = tn_status_message(status);
  fprintf(stderr, "%.*s\n", (int)message.size, message.data);
  fail("an error");
}
/* The status must be an error with that code, and its message must contain that part. */
static void expect_error(tn_status* status, uint32_t code, const char* part) {
  char text[512] = "";
  const tn_str message = tn_status_message(status);
  snprintf(text, sizeof text, "%.*s", (int)message.size, message.data);
  const int good = tn_status_code(status) == code && strstr(text, part) != NULL;
  tn_status_release(status);
  if (!good) fail(text[0] == '\0' ? part : text);
}

static tn_value tensor(tn_tensor* x) {
  tn_value value = {TN_VALUE_TENSOR, 0, {0}};
  value.as.tensor = x;
  return value;
}
static tn_tensor* on(tn_device* device, float first) {
  float elements[N];
  const int64_t shape[] = {N};
  for (int i = 0; i < N; ++i) elements[i] = first + (float)i;
  tn_tensor* made = NULL;
  check(tn_tensor_from_host(elements, sizeof elements, TN_DTYPE_F32, 1, shape, device, &made));
  return made;
}
static tn_tensor* call(const char* op, const tn_value* args, uint32_t nargs) {
  tn_tensor* out = NULL;
  check(tn_op_call(tn_op_find(str(op)), args, nargs, &out, 1));
  return out;
}
static float first(tn_tensor* x) {
  float elements[N];
  check(tn_tensor_to_host(x, elements, sizeof elements));
  return elements[0];
}
/* Gives `x` the elements of a tensor that starts with `value`. */
static void refill(tn_tensor* x, tn_device* device, float value) {
  tn_tensor* source = on(device, value);
  const tn_value arg = tensor(source);
  check(tn_op_call_into(tn_op_find(str("clone")), &arg, 1, &x, 1));
  tn_tensor_release(source);
}

static void replays_over_new_inputs(tn_device* device) {
  tn_tensor* x = on(device, 1);
  const tn_value both[] = {tensor(x), tensor(x)};
  tn_tensor_release(call("mul", both, 2)); /* once, eagerly */
  tn_graph* graph = NULL;
  check(tn_graph_begin(device, &graph));
  tn_tensor* square = call("mul", both, 2);
  check(tn_graph_end(graph));
  tn_graph_stats stats = {.struct_size = sizeof stats};
  check(tn_graph_get_stats(graph, &stats));
  expect(stats.nodes > 0 && stats.bytes > 0, "a graph has nodes and memory");
  for (float value = 2; value < 5; ++value) {
    refill(x, device, value);
    check(tn_graph_replay(graph));
    expect(first(square) == value * value, "a replay reads what lies there now");
  }
  tn_graph_release(graph);
  tn_tensor_release(square), tn_tensor_release(x);
}

/* Replays draw the numbers that the op itself would have drawn: they follow one another from the seed on. */
static void draws_anew(tn_device* device) {
  tn_tensor* x = on(device, 0);
  tn_value args[] = {tensor(x), {TN_VALUE_FLOAT, 0, {0}}, {TN_VALUE_BOOL, 0, {0}}};
  args[1].as.f = 0.5, args[2].as.i = 1;
  tn_tensor* ones = call("exp", args, 1); /* no zeros, among which dropout would not show */
  args[0] = tensor(ones);
  float eager[3][N], replayed[N];
  tn_generator_seed(NULL, 11);
  for (int k = 0; k < 3; ++k) {
    tn_tensor* kept = call("dropout", args, 3);
    check(tn_tensor_to_host(kept, eager[k], sizeof eager[k]));
    tn_tensor_release(kept);
  }
  expect(memcmp(eager[0], eager[1], sizeof *eager) != 0, "the seed draws two different masks");
  tn_generator_seed(NULL, 11);
  tn_graph* graph = NULL;
  check(tn_graph_begin(device, &graph));
  tn_tensor* kept = call("dropout", args, 3);
  check(tn_graph_end(graph));
  for (int k = 0; k < 3; ++k) {
    check(tn_graph_replay(graph));
    check(tn_tensor_to_host(kept, replayed, sizeof replayed));
    expect(memcmp(replayed, eager[k], sizeof replayed) == 0, "a replay draws what eager drew");
  }
  tn_graph_release(graph);
  tn_tensor_release(kept), tn_tensor_release(ones), tn_tensor_release(x);
}

static void refuses_misuse(tn_device* device) {
  tn_graph *graph = NULL, *other = NULL;
  tn_device* host = NULL;
  check(tn_device_find(str("cpu"), &host));
  expect(tn_graph_supported(device) == 1 && tn_graph_supported(host) == 0, "who records graphs");
  expect_error(tn_graph_begin(host, &graph), TN_UNIMPLEMENTED, "gpusim");
  tn_tensor* x = on(device, 1);
  check(tn_graph_begin(device, &graph));
  expect_error(tn_graph_begin(device, &other), TN_FAILED_PRECONDITION, "captures a graph of");
  expect_error(tn_graph_replay(graph), TN_FAILED_PRECONDITION, "it has not ended");
  float elements[N];
  expect_error(tn_tensor_to_host(x, elements, sizeof elements), TN_FAILED_PRECONDITION, "");
  check(tn_graph_end(graph));
  expect_error(tn_graph_end(graph), TN_FAILED_PRECONDITION, "ended already");
  tn_graph_release(graph);
  check(tn_graph_begin(device, &graph)); /* dropped without an end */
  tn_graph_release(graph);
  tn_graph_release(NULL);
  expect(first(x) == 1, "afterwards the device works on");
  tn_tensor_release(x);
}

int main(int argc, char** argv) {
  tn_device* device = NULL;
  check(tn_device_find(str(argc > 1 ? argv[1] : "gpusim:0"), &device));
  replays_over_new_inputs(device);
  draws_anew(device);
  refuses_misuse(device);
  puts("graphs from C: replays, draws, misuse");
  return 0;
}
