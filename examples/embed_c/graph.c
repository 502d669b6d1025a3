/* Runs a graph saved by Python or C++ on inputs of ones, and prints its results.
   usage: run_graph FILE [DEVICE] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/graph.h>
#include <tenon/tenon.h>

static tn_str str(const char* text) { return (tn_str){text, strlen(text)}; }

static void check(tn_status* status) {
  if (status == NULL) return;
  const tn_str message = tn_status_message(status);
  fprintf(stderr, "error: %.*s\n", (int)message.size, message.data);
  exit(1);
}

static void write_out(void* ctx, tn_str chunk) { fwrite(chunk.data, 1, chunk.size, ctx); }

int main(int argc, char** argv) {
  tn_device* device = NULL;
  tn_program* program = NULL;
  tn_tensor *inputs[16], *results[16];
  tn_program_info info = {.struct_size = sizeof info};
  check(tn_device_find(str(argc > 2 ? argv[2] : "cpu"), &device));
  check(tn_program_load(str(argc > 1 ? argv[1] : "net.safetensors"), device, &program));
  check(tn_program_get_info(program, &info));
  if (info.inputs > 16 || info.results > 16) return 2;
  for (uint32_t i = 0; i < info.inputs; ++i) {
    tn_program_value input = {.struct_size = sizeof input};
    check(tn_program_input(program, i, &input));
    const tn_value args[] = {{.tag = TN_VALUE_INTS, .count = input.ndim, .as.ints = input.shape},
                             {.tag = TN_VALUE_INT, .as.i = 1},
                             {.tag = TN_VALUE_DTYPE, .as.i = input.dtype},
                             {.tag = TN_VALUE_DEVICE, .as.device = device}};
    check(tn_op_call(tn_op_find(str("full")), args, 4, &inputs[i], 1));
  }
  check(tn_program_run(program, inputs, info.inputs, results, info.results));
  for (uint32_t k = 0; k < info.results; ++k) check(tn_tensor_print(results[k], write_out, stdout));
  printf("\n");
  for (uint32_t i = 0; i < info.inputs; ++i) tn_tensor_release(inputs[i]);
  for (uint32_t k = 0; k < info.results; ++k) tn_tensor_release(results[k]);
  tn_program_release(program);
  return 0;
}
