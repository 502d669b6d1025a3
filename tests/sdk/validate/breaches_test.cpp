// Each kind of breach, committed by a running backend: the layer names the plugin, the slot, the op and the broken rule, and a call that
// can fail returns a status.
#include "tenon/validate.h"
#include "tensors.hpp"

namespace tenon::test {
namespace {

// Runs before anything else is called; the other files of this program rely on it.
const bool kLayered = [] {
  tn_status* status = tn_layer_set(tn_validate_layer());
  const bool set = status == nullptr;
  tn_status_release(status);
  return set;
}();

struct Seen {
  uint32_t kind;
  std::string plugin, slot, op, text;
};
std::vector<Seen> violations() {
  std::vector<Seen> seen;
  tn_validate_each(
      [](void* ctx, const tn_violation* v) {
        static_cast<std::vector<Seen>*>(ctx)->push_back(
            {v->kind, text(v->plugin), text(v->slot), text(v->op), text(v->text)});
      },
      &seen);
  return seen;
}

void negate(const Device& device) { read(neg(on(device, {1, 2, 3}))); }
void negate_and_copy(const Device& device) {
  negate(device);
  on(device, {1});
}
void multiply(const Device& device) {
  const Tensor x = on(device, {1, 2, 3});
  read(mul(x, x));
}
// A plan is prepared once for each shape.
void multiply_twice(const Device& device) {
  for (const size_t n : {11, 13}) {
    const Tensor x = on(device, std::vector<float>(n, 1));
    read(mul(x, x));
  }
}
void ask(const Device& device) {
  tn_device_info info{};
  info.struct_size = sizeof info;
  take(tn_device_get_info(device.get(), &info));
}
Tensor twice(const Tensor& x, std::string_view type) {
  tn_value arg{TN_VALUE_TENSOR, 0, {}};
  arg.as.tensor = x.get();
  tn_tensor* out = nullptr;
  const Outcome outcome =
      take(tn_op_call(tn_op_find(str(std::string(type) + ".twice")), &arg, 1, &out, 1));
  if (outcome.code != TN_OK) throw Error(outcome.code, outcome.message);
  return Tensor::adopt(out);
}
void double_it(const Device& device) { read(twice(on(device, {1, 2}), "faulty")); }
void copy_it(const Device& device) {
  const std::vector<Tensor> copies = Op("faulty.copies").all(on(device, {1, 2}), 3);
  if (copies.size() != 3) throw Error(TN_OUT_OF_RANGE, "another number of copies");
  read(copies[2]);
}
void gradient_then_more(const Device& device) {
  Tensor x = on(device, {1, 2});
  x.requires_grad_();
  twice(x, "faulty").backward(on(device, {1, 1}));
  twice(x.detach(), "faulty");
}

struct Case {
  const char* name;
  Misdeed misdeed;
  void (*act)(const Device& device);
  uint32_t code;  // expected of the call
  uint32_t kind;
  const char* slot;
  const char* op;
  const char* text;  // a part of it
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

constexpr Case kCases[] = {
    {"NoBuffer", Misdeed::NoBuffer, negate, TN_INTERNAL, TN_VIOLATION_RESULT, "memory.allocate", "",
     "success without a buffer"},
    {"SameBuffer", Misdeed::SameBuffer, negate, TN_INTERNAL, TN_VIOLATION_OWNERSHIP,
     "memory.allocate", "", "still in use"},
    {"NoAddress", Misdeed::NoAddress, negate, TN_INTERNAL, TN_VIOLATION_RESULT, "memory.allocate",
     "", "TN_MEMORY_ADDRESSABLE"},
    {"CrookedAddress", Misdeed::CrookedAddress, negate, TN_OK, TN_VIOLATION_RESULT,
     "memory.allocate", "", "not 64-byte aligned"},
    {"ForgedStatus", Misdeed::ForgedStatus, negate, TN_INTERNAL, TN_VIOLATION_RESULT, "kernel.run",
     "neg", "the host did not make"},
    {"ReleasedStatus", Misdeed::ReleasedStatus, negate, TN_INTERNAL, TN_VIOLATION_RESULT,
     "kernel.run", "neg", "the host did not make"},
    {"StatusReleasedTwice", Misdeed::StatusReleasedTwice, negate, TN_OK, TN_VIOLATION_OWNERSHIP,
     "host.status_release", "neg", "released before"},
    {"NoErrorCode", Misdeed::NoErrorCode, negate, TN_INTERNAL, TN_VIOLATION_ARGUMENT,
     "host.make_status", "neg", "0 is no error code"},
    {"MessageNotText", Misdeed::MessageNotText, negate, TN_INTERNAL, TN_VIOLATION_ARGUMENT,
     "host.make_status", "neg", "not UTF-8"},
    {"LogLevel", Misdeed::LogLevel, negate, TN_OK, TN_VIOLATION_ARGUMENT, "host.log", "neg",
     "level 9"},
    {"Throws", Misdeed::Throws, negate, TN_INTERNAL, TN_VIOLATION_EXCEPTION, "kernel.run", "neg",
     "no barrier here"},
    {"ThrowsNumber", Misdeed::ThrowsNumber, negate, TN_INTERNAL, TN_VIOLATION_EXCEPTION,
     "kernel.run", "neg", "an exception left it"},
    {"SkipsElement", Misdeed::SkipsElement, negate, TN_INTERNAL, TN_VIOLATION_UNWRITTEN,
     "kernel.run", "neg", "1 of 3 elements of output 0 were not written, the first at 2"},
    {"WritesBehind", Misdeed::WritesBehind, negate, TN_INTERNAL, TN_VIOLATION_MEMORY, "kernel.run",
     "neg", "byte 0 behind the end of block"},
    {"CopiesBehind", Misdeed::CopiesBehind, negate, TN_INTERNAL, TN_VIOLATION_MEMORY, "kernel.run",
     "neg", "byte 0 behind the end of block"},
    {"WritesFarBehind", Misdeed::WritesFarBehind, negate, TN_INTERNAL, TN_VIOLATION_MEMORY,
     "kernel.run", "neg", "byte 16384 behind the end of block"},
    {"WritesShape", Misdeed::WritesShape, negate, TN_INTERNAL, TN_VIOLATION_MEMORY, "kernel.run",
     "neg", "the shape of output 0 was changed from (3) to (99)"},
    {"WritesLoop", Misdeed::WritesLoop, negate, TN_INTERNAL, TN_VIOLATION_MEMORY, "kernel.run",
     "neg", "the loop's shape was changed from (3) to (99)"},
    {"WritesInput", Misdeed::WritesInput, negate, TN_INTERNAL, TN_VIOLATION_MEMORY, "kernel.run",
     "neg", "input x was changed"},
    {"AnswersTwo", Misdeed::AnswersTwo, negate, TN_OK, TN_VIOLATION_RESULT, "kernel.supports",
     "neg", "yes is 2"},
    {"AnswersInTurns", Misdeed::AnswersInTurns, negate, TN_OK, TN_VIOLATION_RESULT,
     "kernel.supports", "neg", "must be pure"},
    {"SamePlan", Misdeed::SamePlan, multiply_twice, TN_INTERNAL, TN_VIOLATION_OWNERSHIP,
     "kernel.prepare", "mul", "handed out before"},
    {"HugeScratch", Misdeed::HugeScratch, multiply, TN_OK, TN_VIOLATION_RESULT,
     "kernel.scratch_size", "mul", "bytes of scratch memory"},
    {"OutputTooLate", Misdeed::OutputTooLate, negate_and_copy, TN_INTERNAL, TN_VIOLATION_ARGUMENT,
     "host.make_output", "", "it ends with kernel.run"},
    {"RegistersLate", Misdeed::RegistersLate, negate, TN_FAILED_PRECONDITION, TN_VIOLATION_THREAD,
     "host.register_kernels", "neg", "[init]"},
    {"GrowsStruct", Misdeed::GrowsStruct, ask, TN_OK, TN_VIOLATION_RESULT, "device.info", "",
     "struct_size was changed"},
    {"NameNotText", Misdeed::NameNotText, ask, TN_OK, TN_VIOLATION_RESULT, "device.info", "",
     "not UTF-8"},
    {"KindUnknown", Misdeed::KindUnknown, ask, TN_OK, TN_VIOLATION_RESULT, "device.info", "",
     "kind 77"},
    {"MoreFreeThanThere", Misdeed::MoreFreeThanThere, ask, TN_OK, TN_VIOLATION_RESULT,
     "device.info", "", "bytes free of"},
    {"NegativeResult", Misdeed::NegativeResult, double_it, TN_INTERNAL, TN_VIOLATION_RESULT,
     "op.infer", "faulty.twice", "negative size"},
    {"ResizesResult", Misdeed::ResizesResult, double_it, TN_INTERNAL, TN_VIOLATION_RESULT,
     "op.infer", "faulty.twice", "struct_size of result 0 was changed from"},
    {"InfersAnother", Misdeed::InfersAnother, double_it, TN_INTERNAL, TN_VIOLATION_RESULT,
     "op.infer", "faulty.twice",
     "result 0 has shape (3) and dtype 11 by infer, but op.decompose made shape (2) and dtype 11"},
    {"BorrowedResult", Misdeed::BorrowedResult, double_it, TN_INTERNAL, TN_VIOLATION_OWNERSHIP,
     "op.decompose", "faulty.twice", "no reference to"},
    {"ReleasesBorrowed", Misdeed::ReleasesBorrowed, double_it, TN_OK, TN_VIOLATION_OWNERSHIP,
     "host.tensor_release", "faulty.twice", "borrowed"},
    {"GradientTooLate", Misdeed::GradientTooLate, gradient_then_more, TN_OK, TN_VIOLATION_ARGUMENT,
     "host.grad_output", "faulty.twice", "it ends with op.gradient"},
    {"SavesMore", Misdeed::SavesMore, gradient_then_more, TN_OK, TN_VIOLATION_RESULT, "op.saves",
     "faulty.twice", "are more than saved_inputs 0x1"},
    {"LayerBorrows", Misdeed::LayerBorrows, double_it, TN_INTERNAL, TN_VIOLATION_OWNERSHIP,
     "layer.call", "faulty.twice", "no reference to"},
    {"CountsAnew", Misdeed::CountsAnew, copy_it, TN_INTERNAL, TN_VIOLATION_RESULT, "op.count",
     "faulty.copies", "it must be pure"},
};

class Breaches : public testing::TestWithParam<Case> {};

TEST_P(Breaches, AreNamedAndSurvived) {
  ASSERT_TRUE(kLayered);
  const Case& c = GetParam();
  FaultyControl& control = control_of("faulty");
  const Device device = device_of("faulty");
  tn_fallback_set(TN_FALLBACK_ALLOW);
  negate(device);
  tn_validate_clear();

  control.misdeed = c.misdeed;
  const Outcome outcome = outcome_of([&] { c.act(device); });
  control.misdeed = Misdeed::None;
  EXPECT_EQ(outcome.code, c.code) << outcome;
  const std::vector<Seen> seen = violations();
  ASSERT_FALSE(seen.empty()) << outcome;
  const Seen& first = seen.front();
  EXPECT_EQ(first.kind, c.kind) << first.text;
  EXPECT_EQ(first.plugin, "test.faulty");
  EXPECT_EQ(first.slot, c.slot) << first.text;
  EXPECT_EQ(first.op, c.op) << first.text;
  EXPECT_NE(first.text.find(c.text), std::string::npos) << first.text;
  if (c.code == TN_INTERNAL && *c.op != '\0') {
    EXPECT_TRUE(outcome.message.starts_with("[")) << outcome;
  }

  // The device keeps working, and so does the host.
  tn_validate_clear();
  EXPECT_EQ(read(neg(on(device, {4, 5}))), (std::vector<float>{-4, -5}));
  EXPECT_EQ(tn_validate_count(), 0u) << violations().front().text;
}
INSTANTIATE_TEST_SUITE_P(All, Breaches, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Whatever the keys of their guards are, those of one call's operands differ.
TEST(Breach, ACopiedGuardIsAlwaysFound) {
  FaultyControl& control = control_of("faulty");
  const Device device = device_of("faulty");
  const Tensor x = on(device, {1, 2, 3});  // the outputs take turns until one has its key
  for (int i = 0; i < 300; ++i) {
    tn_validate_clear();
    control.misdeed = Misdeed::CopiesBehind;
    const Outcome outcome = outcome_of([&] { neg(x); });
    control.misdeed = Misdeed::None;
    ASSERT_EQ(outcome.code, TN_INTERNAL) << "call " << i;
  }
  tn_validate_clear();
}

// A fault that cannot be survived is reported before the process ends.
TEST(BreachDeathTest, IsNamedWhereItEndsTheProcess) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto die = [](Misdeed misdeed) {
    control_of("faulty").misdeed = misdeed;
    negate(device_of("faulty"));
  };
  const char* const kWhere = "\\[neg\\] plugin \"test.faulty\", kernel.run: ";
#ifndef __SANITIZE_THREAD__  // its allocator takes a block back twice
  EXPECT_DEATH(die(Misdeed::FreesOutput), std::string(kWhere) + "SIGABRT|AddressSanitizer");
#endif
  EXPECT_DEATH(die(Misdeed::Crashes), std::string(kWhere) + "SIGSEGV|AddressSanitizer");
  EXPECT_EXIT(die(Misdeed::Exits), testing::ExitedWithCode(0),
              std::string(kWhere) + "it ended the process");
}

// What a plugin still holds is reported when it is quiesced.
TEST(Breach, AKeptReferenceIsFoundAtTheQuiesce) {
  FaultyControl& control = control_of("faulty");
  tn_validate_clear();
  const uint64_t held = tn_validate_references();
  const Tensor x = on(Device("cpu"), {1, 2});
  control.misdeed = Misdeed::KeepsReference;
  static_cast<void>(outcome_of([&] { twice(x, "faulty"); }));
  control.misdeed = Misdeed::None;
  EXPECT_EQ(tn_validate_references(), held + 1);
  const Outcome gone = take(tn_plugin_quiesce(str("test.faulty")));
  EXPECT_EQ(gone.code, TN_OK) << gone;
  control_of("faulty");  // a second time
  ASSERT_EQ(violations().size(), 1u);
  EXPECT_EQ(violations()[0].kind, TN_VIOLATION_LEAK);
  EXPECT_EQ(violations()[0].slot, "plugin.quiesce");
  EXPECT_NE(violations()[0].text.find("1 references to tensors are held"), std::string::npos);
  EXPECT_NE(violations()[0].text.find("the first taken in faulty.twice"), std::string::npos);
  EXPECT_EQ(tn_validate_references(), held);
  tn_validate_clear();
}

TEST(Breach, WriteAfterFreeIsFoundLater) {
  FaultyControl& control = control_of("faulty");
  const Device device = device_of("faulty");
  tn_validate_flush();
  tn_validate_clear();
  negate(device);  // its output is released
  control.misdeed = Misdeed::WritesAfterFree;
  negate(device);
  control.misdeed = Misdeed::None;
  EXPECT_EQ(tn_validate_count(), 0u);
  tn_validate_flush();
  ASSERT_EQ(tn_validate_count(), 1u);
  const Seen seen = violations().front();
  EXPECT_EQ(seen.kind, TN_VIOLATION_MEMORY);
  EXPECT_EQ(seen.slot, "memory.free");
  EXPECT_NE(seen.text.find("(output of neg)"), std::string::npos) << seen.text;
  EXPECT_NE(seen.text.find("written after its free"), std::string::npos) << seen.text;
}

// If the host cannot address memory, the layer looks at copies.
TEST(Breach, IsFoundInMemoryWithoutAddresses) {
  FaultyControl& control = control_of("remote");
  const Device device = device_of("remote");
  for (const auto& [misdeed, part] : {std::pair(Misdeed::SkipsElement, "1 of 3 elements"),
                                      std::pair(Misdeed::CopiesBehind, "byte 0 behind the end"),
                                      std::pair(Misdeed::WritesFarBehind, "byte 16384 behind"),
                                      std::pair(Misdeed::WritesBehind, "behind the end of block"),
                                      std::pair(Misdeed::WritesInput, "input x was changed")}) {
    tn_validate_clear();
    control.misdeed = misdeed;
    const Outcome outcome = outcome_of([&] { negate(device); });
    control.misdeed = Misdeed::None;
    EXPECT_EQ(outcome.code, TN_INTERNAL) << outcome;
    ASSERT_NE(tn_validate_count(), 0u) << part;
    EXPECT_NE(violations().front().text.find(part), std::string::npos) << violations().front().text;
  }
  tn_validate_clear();
  negate(device);
  EXPECT_EQ(tn_validate_count(), 0u);
}

// Equal violations are one entry with a count.
TEST(Breach, RepetitionsAreCounted) {
  FaultyControl& control = control_of("faulty");
  const Device device = device_of("faulty");
  tn_validate_clear();
  control.misdeed = Misdeed::KindUnknown;
  for (int i = 0; i < 3; ++i) ask(device);
  control.misdeed = Misdeed::None;
  EXPECT_EQ(tn_validate_count(), 3u);
  EXPECT_EQ(violations().size(), 1u);
  tn_validate_clear();
}

// The kernels of the CPU plugin, on a fair sample of ops, and the core's calls of the plugin.
TEST(Breach, NoneInWhatIsSound) {
  const Device cpu("cpu");
  if (text(tn_op_provider(tn_op_find(str("add")), cpu.get(), TN_DTYPE_F32)).empty())
    GTEST_SKIP() << "no plugin computes on the host here";
  tn_validate_clear();
  Tensor x = uniform({16, 24}, -1, 1), w = uniform({24, 8}, -1, 1);
  x.requires_grad_();
  w.requires_grad_();
  const Tensor y = softmax(gelu(matmul(x, w)), 1);
  sum(y * y).backward();
  EXPECT_TRUE(x.grad().defined());
  const auto [values, indices] = sort(x.detach(), 1);
  EXPECT_EQ(nonzero(greater(values, 0)).ndim(), 2);
  const Tensor u = cast(arange(0, 300), DType(TN_DTYPE_U8));  // holds 255, the fresh byte
  EXPECT_EQ(u.numel(), 300);
  Tensor z = zeros({5, 7});
  z.add_(1);
  EXPECT_EQ(transpose(z, 0, 1).contiguous().numel(), 35);
  EXPECT_EQ(tn_validate_count(), 0u) << violations().front().slot << violations().front().text;
}

}  // namespace
}  // namespace tenon::test
