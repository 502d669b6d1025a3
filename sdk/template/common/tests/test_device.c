/* Uses the plugin as a host program does: loads it by its path, moves bytes, computes, differentiates, releases it.
   Usage: test_device build/tenon_template.so */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/tenon.h"

static tn_str str(const char* text) {
  tn_str made = {text, strlen(text)};
  return made;
}

/* Ends the program with the message of a failed call. */
static void ok(tn_status* status, const char* what) {
  if (status == NULL) return;
  fprintf(stderr, "FAILED %s: %.*s\n", what, (int)tn_status_message(status).size,
          tn_status_message(status).data);
  exit(1);
}

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "FAILED %s\n", what);
  exit(1);
}

static tn_tensor* op(const char* name, tn_tensor* x, tn_tensor* y) {
  tn_value args[2] = {{TN_VALUE_TENSOR, 0, {0}}, {TN_VALUE_TENSOR, 0, {0}}};
  tn_tensor* out = NULL;
  args[0].as.tensor = x;
  args[1].as.tensor = y;
  ok(tn_op_call(tn_op_find(str(name)), args, y != NULL ? 2 : 1, &out, 1), name);
  return out;
}

int main(int argc, char** argv) {
  const float sent[6] = {-3, -2, -1, 1, 2, 3};
  const int64_t shape[2] = {2, 3};
  float got[6];
  tn_device* device = NULL;
  tn_tensor *x = NULL, *rows, *sum, *grad;

  expect(argc == 2, "usage: test_device PLUGIN");
  ok(tn_plugin_load(str(argv[1])), "load");
  ok(tn_device_find(str("template:0"), &device), "find the device");
  tn_fallback_set(TN_FALLBACK_ALLOW); /* ops without a kernel run on the host, silently */

  ok(tn_tensor_from_host(sent, sizeof sent, TN_DTYPE_F32, 2, shape, device, &x), "copy in");
  ok(tn_tensor_to_host(x, got, sizeof got), "copy out");
  expect(memcmp(got, sent, sizeof sent) == 0, "bytes come back as they went");

  /* sum(relu(x) * x), whose gradient is 2 x for x > 0. */
  ok(tn_tensor_set_requires_grad(x, 1), "require a gradient");
  rows = op("relu", x, NULL);
  sum = op("sum", grad = op("mul", rows, x), NULL);
  tn_tensor_release(grad);
  ok(tn_tensor_to_host(sum, got, sizeof(float)), "read the sum");
  expect(got[0] == 14, "1 + 4 + 9 = 14");
  ok(tn_backward(&sum, 1, NULL, 0), "backward");
  grad = tn_tensor_grad(x);
  expect(grad != NULL && tn_tensor_device(grad) == device, "the gradient lives on the device");
  ok(tn_tensor_to_host(grad, got, sizeof got), "read the gradient");
  for (int i = 0; i < 6; ++i) expect(got[i] == (sent[i] > 0 ? 2 * sent[i] : 0), "gradient 2 x");

  expect(tn_device_synchronize(device) == NULL, "synchronize");
  tn_tensor_release(grad), tn_tensor_release(sum), tn_tensor_release(rows), tn_tensor_release(x);
  ok(tn_plugin_quiesce(str("org.example.template")), "quiesce");
  puts("test_device: passed");
  return 0;
}
