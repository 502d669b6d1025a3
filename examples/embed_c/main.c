/* Tenon in a C program: load plugins, multiply two matrices on a device, differentiate, print.
   usage: embed_c [DEVICE [PLUGIN...]]      for example: embed_c cpu, embed_c auto ./my_backend.so */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>

static tn_str str(const char* text) { return (tn_str){text, strlen(text)}; }

/* A status is NULL or an error, which the receiver releases. */
static void check(tn_status* status) {
  if (status == NULL) return;
  const tn_str message = tn_status_message(status);
  fprintf(stderr, "error: %.*s\n", (int)message.size, message.data);
  tn_status_release(status);
  exit(1);
}

/* Called with pieces of text; `ctx` is the pointer that was passed along with the function. */
static void write_to(void* ctx, tn_str chunk) { fwrite(chunk.data, 1, chunk.size, ctx); }

static void print(const char* name, const tn_tensor* tensor) {
  printf("%s =\n", name);
  check(tn_tensor_print(tensor, write_to, stdout));
  printf("\n");
}

static tn_tensor* matrix(const float* elements, int64_t rows, int64_t columns, tn_device* device) {
  const int64_t shape[] = {rows, columns};
  const uint64_t bytes = (uint64_t)(rows * columns) * sizeof(float);
  tn_tensor* made = NULL;
  check(tn_tensor_from_host(elements, bytes, TN_DTYPE_F32, 2, shape, device, &made));
  return made;
}

/* An op of tensors with one result; omitted arguments take their defaults. */
static tn_tensor* call(const char* name, tn_tensor* x, tn_tensor* y) {
  const tn_value args[] = {{.tag = TN_VALUE_TENSOR, .as.tensor = x},
                           {.tag = TN_VALUE_TENSOR, .as.tensor = y}};
  const tn_op* op = NULL;
  tn_tensor* result = NULL;
  check(tn_op_require(str(name), &op)); /* a program that calls it often would keep the handle */
  check(tn_op_call(op, args, y == NULL ? 1 : 2, &result, 1));
  return result;
}

static void show_plugins(void) {
  for (uint32_t i = 0, count = tn_plugin_count(); i < count; ++i) {
    tn_plugin_info info = {.struct_size = sizeof info};
    check(tn_plugin_get_info(i, &info));
    const int loaded = info.state == TN_PLUGIN_LOADED;
    const tn_str what = loaded ? info.version : info.reason;
    const tn_str name = info.id.size != 0 ? info.id : info.path;
    printf("plugin %.*s: %s%.*s\n", (int)name.size, name.data,
           loaded ? "" : "refused: ", (int)what.size, what.data);
  }
}

int main(int argc, char** argv) {
  check(tn_plugins_discover());
  for (int i = 2; i < argc; ++i) check(tn_plugin_load(str(argv[i])));
  show_plugins();

  tn_device* device = NULL;
  check(tn_device_find(str(argc > 1 ? argv[1] : "cpu"), &device));
  const tn_str id = tn_device_id(device);
  printf("device %.*s\n", (int)id.size, id.data);

  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 2, 2};
  tn_tensor* x = matrix(a, 2, 3, device);
  tn_tensor* y = matrix(b, 3, 2, device);
  check(tn_tensor_set_requires_grad(x, 1));

  tn_tensor* product = call("matmul", x, y);
  tn_tensor* loss = call("sum", product, NULL);
  check(tn_backward(&loss, 1, NULL, 0));
  tn_tensor* gradient = tn_tensor_grad(x);

  print("x @ y", product);
  print("d sum(x @ y) / dx", gradient);

  tn_tensor* owned[] = {x, y, product, loss, gradient};
  for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) tn_tensor_release(owned[i]);
  return 0;
}
