// Identity cards, read without opening the libraries that they describe.
#include "plugins.hpp"

namespace tenon::test {
namespace {

struct Case {
  const char* name;
  std::string content;
  const char* reason;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class MalformedCard : public testing::TestWithParam<Case> {};

TEST_P(MalformedCard, IsRefusedByPathAndByScan) {
  const Directory here;
  here.copy("good", "card_lib.so");
  const fs::path path =
      here.write(std::string(GetParam().name) + ".tenon.json", GetParam().content);
  const Outcome outcome = load(path);
  EXPECT_NE(outcome.code, TN_OK);
  EXPECT_NE(outcome.message.find(GetParam().reason), std::string::npos) << outcome;
  discover(here.path());
  EXPECT_NE(reason_of(path.string()).find(GetParam().reason), std::string::npos)
      << reason_of(path.string());
  expect_good_works();
  ++g_kinds;
}

INSTANTIATE_TEST_SUITE_P(
    Each, MalformedCard,
    testing::Values(
        Case{"empty", "", "not JSON"}, Case{"cut", R"({"id": "x", )", "not JSON"},
        Case{"list", "[1, 2]", "not a JSON object"},
        Case{"binary",
             std::string("\x7f"
                         "ELF\0\0\xff\xfe",
                         8),
             "not JSON"},
        Case{"no_fields", "{}", "has no \"id\""},
        Case{"id_number",
             R"({"id": 5, "version": "1", "abi": {"major": 1}, "library": "card_lib.so"})",
             "\"id\" is not a string"},
        Case{"id_empty",
             R"({"id": "", "version": "1", "abi": {"major": 1}, "library": "card_lib.so"})",
             "\"id\" has 0 bytes"},
        Case{"no_abi", R"({"id": "c", "version": "1", "library": "card_lib.so"})",
             "has no \"abi\""},
        Case{"abi_text", R"({"id": "c", "version": "1", "abi": "1.0", "library": "card_lib.so"})",
             "\"abi\" is not an object"},
        Case{"major_negative",
             R"({"id": "c", "version": "1", "abi": {"major": -1}, "library": "card_lib.so"})",
             "\"major\""},
        Case{
            "major_huge",
            R"({"id": "c", "version": "1", "abi": {"major": 4294967297}, "library": "card_lib.so"})",
            "\"major\""},
        Case{"major_other",
             R"({"id": "c", "version": "1", "abi": {"major": 2}, "library": "card_lib.so"})",
             "built for ABI 2"},
        Case{
            "minor_newer",
            R"({"id": "c", "version": "1", "abi": {"major": 1, "min_host_minor": 99}, "library": "card_lib.so"})",
            "needs a core of ABI 1.99"},
        Case{"climbing", card("c", "../card_lib.so"), "is a path"},
        Case{"absolute", card("c", "/usr/lib/libc.so.6"), "is a path"},
        Case{"no_library", card("c", "not_there.so"), "No such file"},
        Case{"features_text", card("c", "card_lib.so", R"("cpu_features": "avx2")"),
             "\"cpu_features\" is not a list"},
        Case{"features_numbers", card("c", "card_lib.so", R"("cpu_features": [2])"),
             "not a string"},
        Case{"features_absent",
             card("c", "card_lib.so", R"("cpu_features": ["sse2", "warp_drive"])"),
             "this CPU lacks warp_drive"},
        Case{"needs_text", card("c", "card_lib.so", R"("needs": "libc")"),
             "\"needs\" is not a list"},
        Case{"sha_number", card("c", "card_lib.so", R"("sha256": 5)"),
             "\"sha256\" is not a string"},
        Case{"sha_short", card("c", "card_lib.so", R"("sha256": "abc")"), "is not 64 digits"},
        Case{"sha_wrong", card("c", "card_lib.so", "\"sha256\": \"" + std::string(64, '0') + "\""),
             "not 000000000000…"},
        Case{"other_id", card("not.what.it.is", "card_lib.so"), "the library says \"test.good\""}),
    [](const auto& one) { return one.param.name; });

TEST(Card, TheLibraryIsNotOpenedWhenTheCpuLacksAFeature) {
  const Directory here;
  // Not even opened: the file is not a library at all.
  here.write("fast.so", "not a library");
  const fs::path path = here.write(
      "fast.tenon.json", card("test.fast", "fast.so", R"("cpu_features": ["warp_drive"])"));
  EXPECT_NE(load(path).message.find("this CPU lacks warp_drive"), std::string::npos);
  // The card beside a library also counts if the library itself is named.
  EXPECT_NE(load(here.path() / "fast.so").message.find("this CPU lacks warp_drive"),
            std::string::npos);
}

TEST(Card, LoadsByItsPath) {
  quiesce("test.good");
  const Directory here;
  here.copy("good", "some.so");
  const fs::path path =
      here.write("some.tenon.json", card("test.good", "some.so", R"("needs": ["libc.so.6"])"));
  const Outcome outcome = load(path);
  EXPECT_EQ(outcome.code, TN_OK) << outcome;
  EXPECT_EQ(load(here.path() / "some.so").code, TN_OK);  // the same plugin
  EXPECT_EQ(quiesce("test.good").code, TN_OK);
}

TEST(Card, AMatchingHashLoads) {
  quiesce("test.good");
  const Directory here;
  here.write("some.so", content_of(built("good")));
  const std::string hash = sha256_of(here.path() / "some.so");
  const fs::path path =
      here.write("some.tenon.json", card("test.good", "some.so", "\"sha256\": \"" + hash + "\""));
  EXPECT_EQ(load(path).code, TN_OK);
  EXPECT_EQ(quiesce("test.good").code, TN_OK);
  // If a library was changed after its card was written, not even a child process tries it.
  const Marker marker;
  faulty(here, "some.so", "none");
  const Outcome outcome = load(path);
  EXPECT_EQ(outcome.code, TN_DATA_LOSS);
  EXPECT_NE(outcome.message.find("not " + hash.substr(0, 12)), std::string::npos) << outcome;
  EXPECT_TRUE(marker.take().empty());
  setenv("TENON_PROBE", "off", 1);
  EXPECT_EQ(load(path).code, TN_DATA_LOSS);
  unsetenv("TENON_PROBE");
  EXPECT_TRUE(marker.take().empty());
}

TEST(Card, NamesWhatALibraryNeeds) {
  const Directory here;
  std::string bytes = content_of(built("good"));
  const std::string needed = needed_by(bytes);
  bytes.replace(bytes.find(needed), needed.size(), missing(needed));
  here.write("needy.so", bytes);
  const fs::path path =
      here.write("needy.tenon.json",
                 card("test.needy", "needy.so", R"("needs": [")" + missing(needed) + "\"]"));
  const Outcome outcome = load(path);
  EXPECT_EQ(outcome.code, TN_IO) << outcome;
  EXPECT_NE(outcome.message.find("; it needs " + missing(needed)), std::string::npos) << outcome;
  EXPECT_NE(outcome.message.find("cannot open shared object"), std::string::npos) << outcome;
}

}  // namespace
}  // namespace tenon::test
