// tn.graph of the CPU plugin, called as libtenon_graph calls it: malformed expressions are refused, correct ones compute.
#include <gtest/gtest.h>

#include <functional>

#include "tenon/creation.hpp"
#include "tenon/ext/draft/graph.h"
#include "tenon/graph.hpp"
#include "tenon/ops.hpp"
#include "tenon/plugins.h"
#include "trace/interface.h"

namespace {

using namespace tenon;

const tn_graph& table() {
  const void* found = nullptr;
  detail::check(tn_plugin_interface(detail::to_str("cpu"), detail::to_str(TN_GRAPH_NAME),
                                    TN_GRAPH_REVISION, &found));
  return *static_cast<const tn_graph*>(found);
}

const tn_dispatch& dispatch() {
  graph::trace({zeros({1})}, [](std::span<const Tensor> in) { return std::vector{in[0] + 1}; });
  const void* found = nullptr;
  detail::check(tn_plugin_interface(detail::to_str(TN_TRACE_ID), detail::to_str(TN_TRACE_NAME),
                                    TN_TRACE_REVISION, &found));
  return *static_cast<const tn_trace_table*>(found)->dispatch;
}

// y[i] = x[i] op 2 over rows of f32, with whatever changes a test makes.
struct Example {
  static constexpr uint32_t kNodes = 4;
  int64_t shape[2] = {3, 5};
  int64_t y[2] = {5, 1}, x[2] = {5, 1};
  const int64_t* strides[2] = {y, x};
  tn_loop loop{sizeof(tn_loop), 2, 0, 2, shape, strides};
  tn_dtype dtypes[2] = {TN_DTYPE_F32, TN_DTYPE_F32};
  tn_value args[2] = {};
  uint32_t inputs[2] = {0, 1};
  uint32_t stored[1] = {2};
  tn_graph_node nodes[kNodes] = {};
  tn_graph_expression expression{
      sizeof(tn_graph_expression), 0, &loop, dtypes, 1, kNodes, nodes, nullptr, 0, nullptr};

  explicit Example(const char* name = "add") {
    const tn_op* op = nullptr;
    detail::check(tn_op_require(detail::to_str(name), &op));
    nodes[0] = {TN_GRAPH_LOAD, TN_DTYPE_F32, 1, 0, nullptr, nullptr, nullptr, nullptr, {}};
    nodes[1] = {TN_GRAPH_NUMBER, TN_DTYPE_F32, 0, 0, nullptr, nullptr, nullptr, nullptr, {}};
    const float two = 2;
    std::memcpy(nodes[1].number, &two, sizeof two);
    nodes[2] = {
        TN_GRAPH_OP, TN_DTYPE_F32, 0,
        2,           op,           dispatch().kernel_at(op, Device("cpu").get(), TN_DTYPE_F32, 0),
        args,        inputs,       {}};
    nodes[3] = {TN_GRAPH_STORE, TN_DTYPE_F32, 0, 1, nullptr, nullptr, args, stored, {}};
  }
  Example(const Example&) = delete;
};

std::string refusal(const Example& example, uint32_t code) {
  tn_kernel kernel{};
  tn_status* status = table().compile(table().self, 0, &example.expression, &kernel);
  if (status == nullptr) {
    table().release(table().self, &kernel);
    return "taken";
  }
  EXPECT_EQ(tn_status_code(status), code);
  std::string text(detail::to_view(tn_status_message(status)));
  tn_status_release(status);
  return text;
}

std::string refused(const std::function<void(Example&)>& change,
                    uint32_t code = TN_INVALID_ARGUMENT) {
  Example example;
  change(example);
  return refusal(example, code);
}

TEST(GraphInterface, ComputesAnExpression) {
  Example example("mul");
  tn_kernel kernel{};
  detail::check(table().compile(table().self, 0, &example.expression, &kernel));
  float from[15], to[15];
  for (int i = 0; i < 15; ++i) from[i] = static_cast<float>(i);
  tn_view in{sizeof(tn_view), TN_DTYPE_F32, 2, 0, from, example.shape, example.x, nullptr, 0, {}};
  tn_view out = in;
  out.data = to;
  tn_value arg{};
  arg.tag = TN_VALUE_VIEW;
  arg.as.view = &in;
  const tn_view* outs[] = {&out};
  tn_call call{};
  call.struct_size = sizeof call;
  call.args = &arg;
  call.nargs = call.nouts = 1;
  call.outs = outs;
  call.loop = &example.loop;
  detail::check(kernel.run(kernel.self, nullptr, &call));
  for (int i = 0; i < 15; ++i) EXPECT_EQ(to[i], 2 * from[i]);
  double cost = 0;
  detail::check(table().cost(table().self, 0, &example.expression, &cost));
  EXPECT_GT(cost, 0);
  table().release(table().self, &kernel);
}

TEST(GraphInterface, NamesWhatIsNoExpression) {
  const auto expect = [](const std::string& found, const char* part) {
    EXPECT_NE(found.find(part), std::string::npos) << found << "\nlacks " << part;
  };
  expect(refused([](Example& e) { e.expression.loop = nullptr; }), "has a loop");
  expect(refused([](Example& e) { e.expression.noutputs = 0; }), "outputs");
  expect(refused([](Example& e) { e.loop.ndim = TN_MAX_DIMS + 1; }), "dimensions");
  expect(refused([](Example& e) { e.loop.reduced = 3; }), "reduced");
  expect(refused([](Example& e) { e.shape[1] = 0; }), "size 0");
  expect(refused([](Example& e) { e.dtypes[1] = TN_DTYPE_COUNT; }), "operand 1 has no dtype");
  expect(refused([](Example& e) { e.y[0] = 0; }), "repeats along dimension 0");
  expect(refused([](Example& e) { e.nodes[0].operand = 0; }), "loads what is no input");
  expect(refused([](Example& e) { e.nodes[0].operand = 2; }), "loads what is no input");
  expect(refused([](Example& e) { e.nodes[0].dtype = TN_DTYPE_F64; }), "not the operand's");
  expect(refused([](Example& e) { e.nodes[1].kind = 9; }), "no such kind");
  expect(refused([](Example& e) { e.nodes[2].kernel = nullptr; }), "no kernel");
  expect(refused([](Example& e) { e.inputs[1] = 2; }), "behind it");
  expect(refused([](Example& e) { e.inputs[1] = TN_GRAPH_ATTRIBUTE; }), "not those of its kernel");
  expect(refused([](Example& e) { e.nodes[1].dtype = TN_DTYPE_F64; }), "not those of its kernel");
  expect(
      refused([](Example& e) { e.nodes[2].dtype = e.nodes[3].dtype = e.dtypes[0] = TN_DTYPE_F64; }),
      "not those of its kernel");
  expect(refused([](Example& e) { e.nodes[2].kind = TN_GRAPH_REDUCE; }), "reduces nothing");
  expect(refused([](Example& e) { e.nodes[3].operand = 1; }), "what is no output");
  expect(refused([](Example& e) { e.nodes[3].dtype = TN_DTYPE_F64; }), "not the operand's");
  expect(refused([](Example& e) { e.expression.nnodes = 3; }), "not stored to");
  expect(refused([](Example& e) {
           e.nodes[1] = e.nodes[3], e.nodes[1].inputs = &e.inputs[0], e.nodes[3] = e.nodes[1];
         }),
         "STORE");
}

TEST(GraphInterface, SaysWhatItCannotDo) {
  const auto cannot = [](const std::function<void(Example&)>& change) {
    return refused(change, TN_UNIMPLEMENTED);
  };
  EXPECT_EQ(cannot([](Example& e) {
              static tn_kernel others = *e.nodes[2].kernel;
              others.self = &others;
              e.nodes[2].kernel = &others;
            }),
            "its kernel is another plugin's");
  const Example sum("sum");
  EXPECT_EQ(cannot([&](Example& e) { e.nodes[2].kernel = sum.nodes[2].kernel; }),
            "it does not go element by element");
  EXPECT_EQ(cannot([](Example& e) { e.loop.reduced = 1, e.nodes[2].kind = TN_GRAPH_REDUCE; }),
            "it does not reduce rows");
  EXPECT_EQ(cannot([](Example& e) { e.loop.reduced = 1, e.shape[1] = 1 << 20; }),
            "rows of more than 4096 elements");
  EXPECT_EQ(cannot([](Example& e) { e.loop.noperands = 99; }),
            "more than 16 operands or 128 nodes");
}

}  // namespace
