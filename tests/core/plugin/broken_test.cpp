// Every kind of broken plugin, loaded by its path and found by a scan beside a good one. The host must name the fault, must not open a
// library whose fault a child process could find, and must go on computing; the good plugin must load.
#include <elf.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iostream>

#include "plugins.hpp"

namespace tenon::test {
namespace {

struct Kind {
  std::string name;
  std::string reason;
  // Makes "x.so", or something else with that name.
  std::function<void(const Directory&)> make;
  std::string id = "test.faulty";  // for the card
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

// ---- Forged from a good library

std::string good() { return content_of(built("good")); }

Kind forged(std::string name, std::string reason, const std::function<void(std::string&)>& change) {
  return {std::move(name), std::move(reason), [change](const Directory& here) {
            std::string bytes = good();
            change(bytes);
            here.write("x.so", bytes);
          }};
}
Kind cut(std::string name, std::string reason, const std::function<size_t(size_t)>& length) {
  return forged(std::move(name), std::move(reason),
                [length](std::string& bytes) { bytes.resize(length(bytes.size())); });
}

template <class T>
T& at(std::string& bytes, size_t offset) {
  return *reinterpret_cast<T*>(bytes.data() + offset);
}
Elf64_Ehdr& header(std::string& bytes) { return at<Elf64_Ehdr>(bytes, 0); }
// The first executable segment.
Elf64_Phdr& code(std::string& bytes) {
  for (uint16_t i = 0; i < header(bytes).e_phnum; ++i) {
    auto& segment = at<Elf64_Phdr>(bytes, header(bytes).e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) return segment;
  }
  throw std::runtime_error("no code");
}
Elf64_Shdr& dynamic_symbols(std::string& bytes) {
  for (uint16_t i = 0; i < header(bytes).e_shnum; ++i) {
    auto& section = at<Elf64_Shdr>(bytes, header(bytes).e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type == SHT_DYNSYM) return section;
  }
  throw std::runtime_error("no symbols");
}
Elf64_Sym& entry(std::string& bytes) {
  const Elf64_Shdr& table = dynamic_symbols(bytes);
  const auto& names =
      at<Elf64_Shdr>(bytes, header(bytes).e_shoff + table.sh_link * sizeof(Elf64_Shdr));
  for (size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
    auto& symbol = at<Elf64_Sym>(bytes, table.sh_offset + i * sizeof(Elf64_Sym));
    if (std::strcmp(bytes.data() + names.sh_offset + symbol.st_name, "tn_plugin_query") == 0)
      return symbol;
  }
  throw std::runtime_error("no entry");
}
void replace(std::string& bytes, const std::string& text, const std::string& by) {
  const size_t found = bytes.find(text + '\0');
  if (found == bytes.npos || text.size() != by.size()) throw std::runtime_error("no " + text);
  bytes.replace(found, by.size(), by);
}

std::vector<Kind> forged_kinds() {
  const std::string beyond = "beyond the file's";
  return {
      {"empty_file", "not an ELF file (0 bytes)",
       [](const Directory& here) { here.write("x.so", ""); }},
      {"a_text", "not an ELF file",
       [](const Directory& here) {
         here.write("x.so", "#!/bin/sh\necho a script, and longer than a header would be\n");
       }},
      {"a_directory", "is a directory",
       [](const Directory& here) { fs::create_directory(here.path() / "x.so"); }},
      {"symlink_loop", "Too many levels of symbolic links",
       [](const Directory& here) { fs::create_symlink("x.so", here.path() / "x.so"); }},
      {"dangling_link", "No such file",
       [](const Directory& here) { fs::create_symlink("gone.so", here.path() / "x.so"); }},
      {"a_pipe", "not a regular file",
       [](const Directory& here) { mkfifo((here.path() / "x.so").c_str(), 0600); }},
      cut("cut_in_magic", "not an ELF file (4 bytes)", [](size_t) { return 4; }),
      cut("cut_in_header", "header reaches " + beyond, [](size_t) { return 40; }),
      cut("cut_in_segments", "program headers reaches " + beyond, [](size_t) { return 100; }),
      cut("cut_in_half", beyond, [](size_t whole) { return whole / 2; }),
      cut("cut_by_a_byte", beyond, [](size_t whole) { return whole - 1; }),
      forged("bits_32", "another architecture (32 bit",
             [](std::string& b) { b[EI_CLASS] = ELFCLASS32; }),
      forged("other_endian", "another architecture",
             [](std::string& b) { b[EI_DATA] = static_cast<char>(3 - b[EI_DATA]); }),
      forged("other_machine", "another architecture: POWER",
             [](std::string& b) { header(b).e_machine = EM_PPC64; }),
      forged("a_program", "not a shared library",
             [](std::string& b) { header(b).e_type = ET_EXEC; }),
      forged("an_object", "not a shared library",
             [](std::string& b) { header(b).e_type = ET_REL; }),
      forged("no_segments", "no program headers", [](std::string& b) { header(b).e_phnum = 0; }),
      forged("segments_far_away", beyond,
             [](std::string& b) { header(b).e_phoff = ~uint64_t{0} - 8; }),
      forged("odd_segments", "no program headers",
             [](std::string& b) { header(b).e_phentsize = 1; }),
      forged("odd_sections", "section headers of 3 bytes",
             [](std::string& b) { header(b).e_shentsize = 3; }),
      forged("sections_far_away", beyond,
             [](std::string& b) { header(b).e_shoff = uint64_t{1} << 62; }),
      forged("long_segment", "a segment reaches " + beyond,
             [](std::string& b) { code(b).p_filesz = uint64_t{1} << 40; }),
      forged("writable_code", "both writable and executable",
             [](std::string& b) { code(b).p_flags |= PF_W; }),
      forged("endless_symbols", beyond,
             [](std::string& b) { dynamic_symbols(b).sh_size = ~uint64_t{0}; }),
      forged("nameless_symbols", "its symbols have no names",
             [](std::string& b) { dynamic_symbols(b).sh_link = 0xffffff; }),
      forged("symbol_outside", "name lies outside",
             [](std::string& b) { entry(b).st_name = 0x7fffffff; }),
      forged("entry_is_data", "is data, not a function",
             [](std::string& b) { entry(b).st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT); }),
      forged("entry_is_local", "does not export tn_plugin_query",
             [](std::string& b) { entry(b).st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC); }),
  };
}

// Faults that only a loader can find; a child process is one.
std::vector<Kind> unloadable_kinds() {
  const std::string needed = needed_by(good());
  return {
      forged("missing_dependency", missing(needed) + ": cannot open shared object",
             [needed](std::string& b) { replace(b, needed, missing(needed)); }),
      forged("undefined_symbol", "undefined symbol: mallox",
             [](std::string& b) { replace(b, "malloc", "mallox"); }),
      forged("entry_elsewhere", "crashed in its query: SIG",
             [](std::string& b) { entry(b).st_value = 0x7ffffff0; }),
  };
}

// ---- Built with a fault (broken.c), and a library that commits the fault it is told to (faulty.cpp)

Kind with_fault(const std::string& name, std::string reason, const std::string& id = "") {
  return {name, std::move(reason), [name](const Directory& here) { here.copy(name, "x.so"); },
          id.empty() ? "test." + name : id};
}
Kind misbehaving(const std::string& what, std::string reason) {
  return {what, std::move(reason), [what](const Directory& here) { faulty(here, "x.so", what); }};
}

std::vector<Kind> built_kinds() {
  return {
      with_fault("no_symbol", "does not export tn_plugin_query"),
      with_fault("core_symbol", "needs the symbol tn_plugin_count"),
      with_fault("null_table", "gave no table"),
      with_fault("short_table", "its table has 16 bytes"),
      with_fault("wrong_major", "built for ABI 2.0; this core has 1."),
      with_fault("newer_host", "needs a core of ABI 1.9999"),
      with_fault("no_id", "its id is missing"),
      with_fault("no_start", "plugin.start"),
      with_fault("start_fails", "changed its mind"),
      with_fault("unknown_op", "no_such_op"),
      with_fault("fill_nothing", "neither gives a result nor writes an argument"),
      with_fault("other_revision", "add(Tensor x, Tensor y) -> Tensor @99"),
      with_fault("no_run", "has no run"),
      with_fault("short_kernel", "its table has 12 bytes"),
      with_fault("short_stride", "16 bytes apart"),
      with_fault("null_op", "or no op"),
      with_fault("foreign_token", "registration is for a plugin's start"),
      with_fault("absent_type", "no_such_type"),
      with_fault("type_taken", "\"cpu\" belongs to plugin \"core\""),
      with_fault("type_name", "No Such:Name"),
      with_fault("null_tables", "device.count"),
      with_fault("short_type", "too short"),
      with_fault("count_fails", "the driver crashed"),
      with_fault("many_devices", "4294967295 devices"),
      with_fault("op_no_dot", "names without a dot"),
      with_fault("op_taken", "names without a dot"),
      with_fault("op_malformed", "test.malformed"),
      with_fault("op_twice", "\"test.twice\" is registered twice"),
      with_fault("op_then_fails", "changed its mind"),
      with_fault("twin", "\"test.good\" is loaded already", "test.good"),
  };
}

std::vector<Kind> misbehaving_kinds() {
  std::vector<Kind> kinds = {
      misbehaving("table.huge", "its table has 4294967295 bytes"),
      misbehaving("table.newline", "its id has byte 0x0a"),
      misbehaving("table.bytes", "its id has byte 0xff"),
      misbehaving("table.long", "its id has 300 bytes"),
      misbehaving("table.endless", "its id has 1152921504606846976 bytes"),
      misbehaving("table.wild", "crashed in its query: SIGSEGV"),
      misbehaving("table.core", "\"core\""),
      misbehaving("table.version", "its version is missing"),
      misbehaving("table.jump", "crashed in its start: SIGSEGV"),
      misbehaving("query.status", "crashed in its query: SIGSEGV"),
      misbehaving("query.table", "crashed in its query: SIGSEGV"),
      misbehaving("start.status", "crashed in its start: SIGSEGV"),
      misbehaving("start.error", "no memory left on the device"),
      misbehaving("start.endless", "its table has 0 bytes"),
      misbehaving("start.many", "crashed in its start: SIGSEGV"),
      misbehaving("start.device", "crashed in its start: SIGSEGV"),
      misbehaving("start.memory", "an exception left its start: std::bad_alloc"),
      misbehaving("start.number", "an exception left its start"),
      misbehaving("start.throw", "an exception left its start: no barrier here"),
      misbehaving("query.throw", "an exception left its query: no barrier here"),
      misbehaving("quiesce.throw", "an exception left its quiesce: no barrier here"),
      misbehaving("stop.throw", "an exception left its stop: no barrier here"),
      misbehaving("count.throw", "no barrier here"),
      misbehaving("constructor.throw", "no barrier here"),
      misbehaving("start.thread", "crashed in its start: SIGABRT"),
      misbehaving("start.talk", "and on it goes"),
      misbehaving("start.quick", "ended the process in its start, with exit status 7"),
      misbehaving("start.kill", "crashed in its start: SIGKILL"),
      misbehaving("start.loop", "hung in its start: no end within 1 s"),
      misbehaving("constructor.sleep", "hung in its static constructors"),
      misbehaving("quiesce.sleep", "hung in its quiesce"),
      misbehaving("destructor.sleep", "hung in its static destructors"),
      misbehaving("destructor.segv", "crashed in its static destructors: SIGSEGV"),
  };
  const std::pair<const char*, const char*> stages[] = {{"constructor", "static constructors"},
                                                        {"query", "query"},
                                                        {"start", "start"},
                                                        {"quiesce", "quiesce"},
                                                        {"stop", "stop"}};
  for (const auto& [stage, name] : stages) {
    const std::string crashed = std::string("crashed in its ") + name + ": ";
    const std::string in = std::string(stage) + ".";
    kinds.push_back(misbehaving(in + "segv", crashed + "SIGSEGV"));
    kinds.push_back(misbehaving(in + "ill", crashed + "SIGILL"));
    kinds.push_back(misbehaving(in + "abort", crashed + "SIGABRT"));
    kinds.push_back(misbehaving(in + "overflow", crashed + "SIGSEGV"));
    kinds.push_back(misbehaving(
        in + "exit", std::string("ended the process in its ") + name + ", with exit status 0"));
  }
  return kinds;
}

// ---- Each of them, in both ways

class Broken : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    // Long enough for those that hang, because they hang forever; the others get the usual time.
    if (GetParam().reason.starts_with("hung")) setenv("TENON_PROBE_TIMEOUT", "1", 1);
  }
  void TearDown() override { unsetenv("TENON_PROBE_TIMEOUT"); }

  // Only the libraries of faulty.cpp leave a mark.
  void expect_opened_elsewhere(bool is_first) {
    const std::vector<pid_t> processes = marker_.take();
    EXPECT_EQ(std::count(processes.begin(), processes.end(), getpid()), 0);
    const bool leaves_mark = GetParam().name.find('.') != std::string::npos;
    EXPECT_FALSE(is_first && leaves_mark && processes.empty()) << "no child opened it either";
  }

  Marker marker_;
};

TEST_P(Broken, IsRefusedAndHarmless) {
  const Kind& kind = GetParam();
  const uint32_t ops = tn_op_count();
  expect_good_works();
  const uint32_t devices = tn_device_count();
  {
    const Directory here;
    kind.make(here);
    const Outcome outcome = load(here.path() / "x.so");
    EXPECT_NE(outcome.code, TN_OK);
    EXPECT_NE(outcome.message.find(kind.reason), std::string::npos) << outcome;
    EXPECT_NE(outcome.message.find("x.so"), std::string::npos) << outcome;
    expect_opened_elsewhere(true);
  }
  {
    const Directory here;
    kind.make(here);
    here.write("x.tenon.json", card(kind.id, "x.so"));
    here.copy("older_table", "neighbour.so");
    here.write("neighbour.tenon.json", card("test.older_table", "neighbour.so"));
    discover(here.path());
    const std::string reason = reason_of((here.path() / "x.tenon.json").string());
    EXPECT_NE(reason.find(kind.reason), std::string::npos) << reason;
    EXPECT_EQ(reason_of((here.path() / "neighbour.tenon.json").string()), "loaded");
    EXPECT_EQ(quiesce("test.older_table").code, TN_OK);
    expect_opened_elsewhere(false);
  }
  EXPECT_EQ(tn_device_count(), devices);
  EXPECT_EQ(tn_op_count(), ops);
  expect_good_works();
  ++g_kinds;
}

std::string test_name(const testing::TestParamInfo<Kind>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Forged, Broken, testing::ValuesIn(forged_kinds()), test_name);
INSTANTIATE_TEST_SUITE_P(Unloadable, Broken, testing::ValuesIn(unloadable_kinds()), test_name);
INSTANTIATE_TEST_SUITE_P(Built, Broken, testing::ValuesIn(built_kinds()), test_name);
INSTANTIATE_TEST_SUITE_P(Misbehaving, Broken, testing::ValuesIn(misbehaving_kinds()), test_name);

TEST(BrokenFile, Unreadable) {
  expect_good_works();
  discover("");  // scans the other places, as a user who may read them
  const Directory here;
  fs::permissions(here.path(), fs::perms(0755));
  here.copy("older_table", "x.so");
  here.write("x.tenon.json", card("test.older_table", "x.so"));
  fs::permissions(here.path() / "x.so", fs::perms::none);
  // Root may read everything, so root's rights are dropped meanwhile.
  const uid_t user = geteuid();
  ASSERT_EQ(user == 0 ? seteuid(65534) : 0, 0);
  const Outcome outcome = load(here.path() / "x.so");
  discover(here.path());
  ASSERT_EQ(user == 0 ? seteuid(0) : 0, 0);
  EXPECT_EQ(outcome.code, TN_IO);
  EXPECT_NE(outcome.message.find("Permission denied"), std::string::npos) << outcome;
  const std::string reason = reason_of((here.path() / "x.tenon.json").string());
  EXPECT_NE(reason.find("Permission denied"), std::string::npos) << reason;
  expect_good_works();
  ++g_kinds;
}

class Count : public testing::Environment {
 public:
  void TearDown() override {
    testing::Test::RecordProperty("broken_plugins_tried", g_kinds);
    std::cout << "broken plugins: " << g_kinds
              << " kinds tried by path and by discovery; the host survived them\n";
  }
};
const testing::Environment* const g_count = testing::AddGlobalTestEnvironment(new Count);

}  // namespace
}  // namespace tenon::test
