// tenon/graph.h with arguments that no caller should pass: each is an error, and nothing else happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tenon/creation.hpp"
#include "tenon/graph.hpp"

namespace {

using namespace tenon;

std::string take(tn_status* status) {
  std::string text(detail::to_view(tn_status_message(status)));
  tn_status_release(status);
  return status == nullptr ? "ok" : text;
}

graph::Program doubled() {
  return graph::trace({ones({2})},
                      [](std::span<const Tensor> in) { return std::vector{in[0] * 2}; });
}

TEST(GraphInC, NullIsNamed) {
  const Tensor x = ones({2});
  tn_tensor* made = nullptr;
  tn_program* program = nullptr;
  tn_program_info info{};
  tn_program_value value{};
  const tn_str name = detail::to_str("x");
  EXPECT_EQ(take(tn_trace_begin(nullptr)), "[graph] out is NULL");
  EXPECT_EQ(take(tn_trace_input(nullptr, x.get(), name, &made)), "[graph] trace is NULL");
  EXPECT_EQ(take(tn_trace_name(nullptr, x.get(), name)), "[graph] trace is NULL");
  EXPECT_EQ(take(tn_trace_end(nullptr, nullptr, 0, nullptr, &program)), "[graph] trace is NULL");
  EXPECT_EQ(take(tn_program_run(nullptr, nullptr, 0, nullptr, 0)), "[graph] program is NULL");
  EXPECT_EQ(take(tn_program_save(nullptr, name)), "[graph] program is NULL");
  EXPECT_EQ(take(tn_program_load(name, nullptr, nullptr)), "[graph] out is NULL");
  EXPECT_EQ(take(tn_program_quantize(nullptr, nullptr, 0, &program)), "[graph] program is NULL");
  EXPECT_EQ(take(tn_program_get_info(nullptr, &info)), "[graph] program is NULL");
  EXPECT_EQ(take(tn_program_input(nullptr, 0, &value)), "[graph] program is NULL");
  EXPECT_EQ(take(tn_program_result(nullptr, 0, &value)), "[graph] program is NULL");
  EXPECT_EQ(take(tn_program_print(nullptr, 0, nullptr, nullptr)), "[graph] program is NULL");
  EXPECT_EQ(tn_program_device(nullptr), nullptr);
  EXPECT_EQ(tn_program_retain(nullptr), nullptr);
  tn_program_release(nullptr);
  tn_trace_drop(nullptr);

  tn_trace* trace = nullptr;
  EXPECT_EQ(take(tn_trace_begin(&trace)), "ok");
  EXPECT_EQ(take(tn_trace_input(trace, nullptr, name, &made)), "[graph] like is NULL");
  EXPECT_EQ(take(tn_trace_input(trace, x.get(), name, nullptr)), "[graph] out is NULL");
  EXPECT_EQ(take(tn_trace_name(trace, nullptr, name)), "[graph] weight is NULL");
  EXPECT_EQ(take(tn_trace_end(trace, nullptr, 1, nullptr, &program)), "[graph] a result is NULL");

  const graph::Program known = doubled();
  tn_tensor* none[] = {nullptr};
  EXPECT_EQ(take(tn_program_run(known.get(), nullptr, 1, &made, 1)), "[graph] an input is NULL");
  EXPECT_EQ(take(tn_program_run(known.get(), none, 1, &made, 1)), "[graph] an input is NULL");
  EXPECT_EQ(take(tn_program_run(known.get(), none, 1, nullptr, 1)), "[graph] results is NULL");
  EXPECT_EQ(take(tn_program_quantize(known.get(), nullptr, 0, nullptr)), "[graph] out is NULL");
  EXPECT_EQ(take(tn_program_run(known.get(), none, 1, nullptr, 0)),
            "[graph] 0 results asked for, the graph has 1");
  EXPECT_EQ(take(tn_program_get_info(known.get(), nullptr)), "[graph] out is NULL");
  EXPECT_EQ(take(tn_program_input(known.get(), 1, &value)), "[graph] 1 of 1 values");
  EXPECT_EQ(take(tn_program_print(known.get(), 0, nullptr, nullptr)), "[graph] write is NULL");
}

TEST(GraphInC, StructsMayBeShorter) {
  const graph::Program known = doubled();
  struct {
    tn_program_info info;
    uint64_t guard;
  } given{};
  given.info.struct_size = 8;
  given.info.results = 77;
  EXPECT_EQ(take(tn_program_get_info(known.get(), &given.info)), "ok");
  EXPECT_EQ(given.info.inputs, 1u);
  EXPECT_EQ(given.info.results, 77u);
  EXPECT_EQ(given.info.struct_size, 8u);
}

TEST(GraphInC, ReadsComeFromTensorsOutside) {
  const Tensor weight = ones({2}), other = ones({2});
  tn_trace_read(weight.get());  // there is no trace
  tn_trace* trace = nullptr;
  ASSERT_EQ(take(tn_trace_begin(&trace)), "ok");
  EXPECT_EQ(tn_trace_reads(trace, nullptr, 0), 0u);
  const Tensor sum = (weight * 2).sum() + other;
  tn_trace_read(sum.get());
  tn_trace_read(weight.narrow(0, 1, 1).get());
  tn_tensor* found[3] = {};
  EXPECT_EQ(tn_trace_reads(trace, found, 3), 2u);
  std::vector<const void*> memory;
  for (tn_tensor* one : {found[0], found[1]})
    memory.push_back(tn_tensor_data(Tensor::adopt(one).get()));
  EXPECT_EQ(std::ranges::count(memory, tn_tensor_data(weight.get())), 1);
  EXPECT_EQ(std::ranges::count(memory, tn_tensor_data(other.get())), 1);
  EXPECT_EQ(tn_trace_reads(nullptr, nullptr, 0), 0u);
  tn_trace_drop(trace);
}

TEST(GraphInC, ControlFlowSaysWhatIsWrong) {
  const Tensor x = ones({2});
  tn_tensor* operand = x.get();
  tn_tensor* made = nullptr;
  EXPECT_EQ(take(tn_trace_control(7, &operand, 1, 0, &made, 1)),
            "[graph] there is no control flow of kind 7");
  EXPECT_EQ(take(tn_trace_control(TN_CONTROL_SCAN, &operand, 1, 2, &made, 1)),
            "[graph] 2 of 1 operands are carried");
  tn_trace* trace = nullptr;
  ASSERT_EQ(take(tn_trace_begin(&trace)), "ok");
  EXPECT_EQ(take(tn_trace_body_end(&operand, 1)), "[graph] no body is open");
  EXPECT_EQ(take(tn_trace_body_drop()), "[graph] no body is open");
  EXPECT_EQ(take(tn_trace_body_refuse(detail::to_str("why"))), "[graph] no body is open");
  tn_trace_drop(trace);
}

TEST(GraphInC, ReferencesAreCounted) {
  tn_program* program = nullptr;
  {
    const graph::Program known = doubled();
    program = tn_program_retain(known.get());
  }
  const Tensor x = ones({2});
  tn_tensor* input = x.get();
  tn_tensor* result = nullptr;
  EXPECT_EQ(take(tn_program_run(program, &input, 1, &result, 1)), "ok");
  EXPECT_EQ(Tensor::adopt(result).to_vector<float>(), (std::vector<float>{2, 2}));
  tn_program_release(program);
}

}  // namespace
