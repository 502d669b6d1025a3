// Libraries and tables that must be refused, each with its reason and without harm.
#include "plugins.hpp"

namespace tenon::test {
namespace {

struct Case {
  const char* name;
  uint32_t code;
  const char* reason;  // part of the message
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class Refused : public testing::TestWithParam<Case> {};

TEST_P(Refused, WithItsReason) {
  const auto& [name, code, reason] = GetParam();
  const uint32_t devices = tn_device_count();
  const uint32_t ops = tn_op_count();
  const std::string path = built(name).string();
  for (int attempt = 0; attempt < 2;
       ++attempt) {  // a second time, to see that the first attempt left nothing behind
    const Outcome outcome = load(path);
    EXPECT_EQ(outcome.code, code) << outcome;
    EXPECT_NE(outcome.message.find(reason), std::string::npos) << outcome;
    EXPECT_NE(outcome.message.find(path), std::string::npos) << outcome;
  }
  const auto info = info_of(path);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->state, TN_PLUGIN_REFUSED);
  EXPECT_NE(text(info->reason).find(reason), std::string::npos) << text(info->reason);
  EXPECT_EQ(tn_device_count(), devices);
  EXPECT_EQ(tn_op_count(), ops);
  EXPECT_FALSE(has_device("test." + std::string(name)));
  expect_good_works();
}

INSTANTIATE_TEST_SUITE_P(
    Library, Refused,
    testing::Values(Case{"no_symbol", TN_INVALID_ARGUMENT, "does not export tn_plugin_query"},
                    Case{"core_symbol", TN_INVALID_ARGUMENT, "needs the symbol tn_plugin_count"},
                    Case{"null_table", TN_INVALID_ARGUMENT, "gave no table"},
                    Case{"short_table", TN_INVALID_ARGUMENT, "its table has 16 bytes"},
                    Case{"wrong_major", TN_INVALID_ARGUMENT, "built for ABI 2.0; this core has 1."},
                    Case{"newer_host", TN_INVALID_ARGUMENT, "needs a core of ABI 1.9999"},
                    Case{"no_id", TN_INVALID_ARGUMENT, "its id is missing"},
                    Case{"no_start", TN_UNIMPLEMENTED, "plugin.start"}),
    [](const auto& one) { return one.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Registration, Refused,
    testing::Values(
        Case{"start_fails", TN_DEVICE_LOST, "changed its mind"},
        Case{"throws", TN_INTERNAL, "an exception left its start: no barrier here"},
        Case{"unknown_op", TN_NOT_FOUND, "no_such_op"},
        Case{"other_revision", TN_INVALID_ARGUMENT, "add(Tensor x, Tensor y) -> Tensor @99"},
        Case{"no_run", TN_INVALID_ARGUMENT, "has no run"},
        Case{"short_kernel", TN_INVALID_ARGUMENT, "its table has 12 bytes"},
        Case{"short_stride", TN_INVALID_ARGUMENT, "16 bytes apart"},
        Case{"null_op", TN_INVALID_ARGUMENT, "or no op"},
        Case{"foreign_token", TN_FAILED_PRECONDITION, "registration is for a plugin's start"},
        Case{"absent_type", TN_NOT_FOUND, "no_such_type"},
        Case{"type_taken", TN_ALREADY_EXISTS, "\"cpu\" belongs to plugin \"core\""},
        Case{"type_name", TN_INVALID_ARGUMENT, "No Such:Name"},
        Case{"null_tables", TN_UNIMPLEMENTED, "device.count"},
        Case{"short_type", TN_INVALID_ARGUMENT, "too short"},
        Case{"count_fails", TN_DEVICE_LOST, "the driver crashed"},
        Case{"many_devices", TN_OUT_OF_RANGE, "4294967295 devices"},
        Case{"op_no_dot", TN_INVALID_ARGUMENT, "names without a dot"},
        Case{"op_taken", TN_INVALID_ARGUMENT, "names without a dot"},
        Case{"op_malformed", TN_INVALID_ARGUMENT, "test.malformed"},
        Case{"op_form", TN_INVALID_ARGUMENT, "does not know"},
        Case{"op_promotion", TN_INVALID_ARGUMENT, "does not know"},
        Case{"op_reduces_nothing", TN_INVALID_ARGUMENT, "'int[]? dims'"},
        Case{"op_loops_over_nothing", TN_INVALID_ARGUMENT, "nothing to loop over"},
        Case{"op_argument_twice", TN_INVALID_ARGUMENT, "two arguments are called 'x'"},
        Case{"op_operands", TN_INVALID_ARGUMENT, "at most 8 operands"},
        Case{"op_then_fails", TN_DEVICE_LOST, "changed its mind"}),
    [](const auto& one) { return one.param.name; });

// ---- Forged files -------------------------------------------------------------------------------

void expect_refused(const fs::path& path, uint32_t code, std::string_view reason) {
  const Outcome outcome = load(path);
  EXPECT_EQ(outcome.code, code) << outcome;
  EXPECT_NE(outcome.message.find(reason), std::string::npos) << outcome;
  expect_good_works();
}

TEST(Forged, NoFile) {
  expect_refused("/no/such/plugin.so", TN_NOT_FOUND, "/no/such/plugin.so");
  expect_refused("", TN_INVALID_ARGUMENT, "the path is empty");
  const Directory here;
  expect_refused(here.path(), TN_INVALID_ARGUMENT, "is a directory");
  const fs::path pipe = here.path() / "pipe.so";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_refused(pipe, TN_INVALID_ARGUMENT, "not a regular file");
}

TEST(Forged, NotElf) {
  const Directory here;
  expect_refused(here.write("text.so", "this is a text, and longer than a header"), TN_DATA_LOSS,
                 "not an ELF file");
  expect_refused(here.write("empty.so", ""), TN_DATA_LOSS, "not an ELF file (0 bytes)");
  expect_refused(here.write("magic.so",
                            "\x7f"
                            "ELF"),
                 TN_DATA_LOSS, "not an ELF file (4 bytes)");
}

TEST(Forged, TruncatedAnywhere) {
  const Directory here;
  const std::string whole = content_of(built("good"));
  ASSERT_GT(whole.size(), 4096u);
  for (size_t length :
       {size_t{17}, size_t{64}, size_t{100}, size_t{1000}, whole.size() / 2, whole.size() - 1}) {
    const Outcome outcome =
        load(here.write("short" + std::to_string(length) + ".so", whole.substr(0, length)));
    EXPECT_EQ(outcome.code, TN_DATA_LOSS) << length << " bytes: " << outcome;
  }
  expect_good_works();
}

TEST(Forged, AnotherArchitecture) {
  const Directory here;
  std::string bytes = content_of(built("good"));
  const auto with = [&](size_t at, char value) {
    std::string changed = bytes;
    changed[at] = value;
    return changed;
  };
  expect_refused(here.write("class.so", with(4, 1)), TN_INVALID_ARGUMENT,
                 "another architecture (32 bit");
  expect_refused(here.write("endian.so", with(5, static_cast<char>(3 - bytes[5]))),
                 TN_INVALID_ARGUMENT, "another architecture");
  expect_refused(here.write("machine.so", with(18, 20)), TN_INVALID_ARGUMENT,
                 "another architecture: machine");
  expect_refused(here.write("program.so", with(16, 2)), TN_INVALID_ARGUMENT,
                 "not a shared library");
}

// Whatever a byte of the tables is changed to, the answer is a status. Only files that the checks refuse are tried, because this process
// would open the others.
TEST(Forged, HeadersOfGarbage) {
  const Directory here;
  const std::string whole = content_of(built("good"));
  for (size_t at : {size_t{32}, size_t{40}, size_t{54}, size_t{56}, size_t{58}, size_t{60}}) {
    std::string changed = whole;
    for (size_t i = 0; i < 2; ++i) changed[at + i] = '\xff';
    if (at == 32 || at == 40) changed[at + 6] = '\x7f';  // offsets far outside
    const Outcome outcome = load(here.write("header" + std::to_string(at) + ".so", changed));
    EXPECT_EQ(outcome.code, TN_DATA_LOSS) << "byte " << at << ": " << outcome;
  }
  expect_good_works();
}

}  // namespace

void expect_good_works() {
  const Outcome loaded = load(built("good"));
  ASSERT_EQ(loaded.code, TN_OK) << loaded;
  tn_device* device = nullptr;
  ASSERT_EQ(take(tn_device_find(str("test.good:0"), &device)).code, TN_OK);
  const int64_t shape[] = {3};
  tn_tensor* x = nullptr;
  ASSERT_EQ(take(tn_tensor_empty(TN_DTYPE_F32, 1, shape, device, &x)).code, TN_OK);
  tn_value args[2] = {{TN_VALUE_TENSOR, 0, {}}, {TN_VALUE_TENSOR, 0, {}}};
  args[0].as.tensor = args[1].as.tensor = x;
  tn_tensor* sum = nullptr;
  const Outcome outcome = take(tn_op_call(tn_op_find(str("add")), args, 2, &sum, 1));
  ASSERT_EQ(outcome.code, TN_OK) << outcome;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(static_cast<float*>(tn_tensor_data(sum))[i], 42);
  tn_tensor_release(sum);
  tn_tensor_release(x);
}

}  // namespace tenon::test
