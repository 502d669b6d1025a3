#include "plugin/elf.hpp"

#include <elf.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <vector>

#include "status.hpp"

namespace tenon::core {
namespace {

constexpr std::string_view kEntry = "tn_plugin_query";
constexpr uint64_t kMostTable = 64 << 20;  // a symbol table beyond this is garbage

// This library's own header, by a name that linkers define: what a plugin must be like.
extern "C" const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

std::string machine_name(uint16_t machine) {
  constexpr std::pair<uint16_t, std::string_view> kNames[] = {
      {EM_386, "x86 (32 bit)"}, {EM_X86_64, "x86-64"}, {EM_ARM, "ARM (32 bit)"},
      {EM_AARCH64, "AArch64"},  {EM_RISCV, "RISC-V"},  {EM_PPC64, "POWER"},
      {EM_S390, "S/390"}};
  for (const auto& [code, name] : kNames)
    if (code == machine) return std::string(name);
  return fmt::format("machine {}", machine);
}

bool contains(const Pinned& file, uint64_t offset, uint64_t bytes) {
  return offset <= file.size() && bytes <= file.size() - offset;
}

// `count` records of a table; throws when the file ends before.
template <class Record>
std::vector<Record> read(const Pinned& file, uint64_t offset, uint64_t count, const char* what) {
  if (count > kMostTable / sizeof(Record) || !contains(file, offset, count * sizeof(Record)))
    fail(TN_DATA_LOSS, "truncated or malformed: its {} reaches beyond the file's {} bytes", what,
         file.size());
  std::vector<Record> records(count);
  const size_t bytes = count * sizeof(Record);
  if (records.data() != nullptr && pread(file.descriptor(), records.data(), bytes,
                                         static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes))
    fail(TN_IO, "cannot read its {}", what);
  return records;
}

Elf64_Ehdr read_header(const Pinned& file) {
  if (file.size() < EI_NIDENT) fail(TN_DATA_LOSS, "not an ELF file ({} bytes)", file.size());
  const auto magic = read<unsigned char>(file, 0, EI_NIDENT, "header");
  if (std::memcmp(magic.data(), ELFMAG, SELFMAG) != 0) fail(TN_DATA_LOSS, "not an ELF file");
  if (magic[EI_CLASS] != ELFCLASS64 || magic[EI_DATA] != __ehdr_start.e_ident[EI_DATA])
    fail(TN_INVALID_ARGUMENT, "built for another architecture ({} bit, {} endian)",
         magic[EI_CLASS] == ELFCLASS64 ? 64 : 32, magic[EI_DATA] == ELFDATA2LSB ? "little" : "big");
  const Elf64_Ehdr header = read<Elf64_Ehdr>(file, 0, 1, "header").front();
  if (header.e_machine != __ehdr_start.e_machine)
    fail(TN_INVALID_ARGUMENT, "built for another architecture: {}, this process is {}",
         machine_name(header.e_machine), machine_name(__ehdr_start.e_machine));
  if (header.e_type != ET_DYN)
    fail(TN_INVALID_ARGUMENT, "not a shared library (ELF type {})", header.e_type);
  return header;
}

void check_segments(const Pinned& file, const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0)
    fail(TN_DATA_LOSS, "malformed: no program headers");
  for (const Elf64_Phdr& segment :
       read<Elf64_Phdr>(file, header.e_phoff, header.e_phnum, "program headers"))
    if (segment.p_type == PT_LOAD && !contains(file, segment.p_offset, segment.p_filesz))
      fail(TN_DATA_LOSS, "truncated: a segment reaches beyond the file's {} bytes", file.size());
    else if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) && (segment.p_flags & PF_X))
      fail(TN_INVALID_ARGUMENT, "a segment is both writable and executable");
}

// Whether tn_plugin_query is among the dynamic symbols; nothing when the file has no section
// headers to tell by.
std::optional<bool> exports_entry(const Pinned& file, const Elf64_Ehdr& header) {
  if (header.e_shoff == 0 || header.e_shnum == 0) return std::nullopt;
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    fail(TN_DATA_LOSS, "malformed: section headers of {} bytes", header.e_shentsize);
  const auto sections = read<Elf64_Shdr>(file, header.e_shoff, header.e_shnum, "section table");
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_link >= sections.size())
      fail(TN_DATA_LOSS, "malformed: its symbols have no names");
    const Elf64_Shdr& strings = sections[section.sh_link];
    const auto names = read<char>(file, strings.sh_offset, strings.sh_size, "symbol names");
    bool found = false;
    for (const Elf64_Sym& symbol : read<Elf64_Sym>(
             file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym), "symbol table")) {
      if (symbol.st_name >= names.size())
        fail(TN_DATA_LOSS, "malformed: a symbol's name lies outside its table");
      const char* name = names.data() + symbol.st_name;
      const std::string_view text(name, strnlen(name, names.size() - symbol.st_name));
      if (symbol.st_shndx != SHN_UNDEF) {
        if (text != kEntry || ELF64_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
        if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT || ELF64_ST_TYPE(symbol.st_info) == STT_TLS)
          fail(TN_INVALID_ARGUMENT, "its {} is data, not a function", kEntry);
        found = true;
      } else if (text.starts_with("tn_") && ELF64_ST_BIND(symbol.st_info) != STB_WEAK) {
        fail(TN_INVALID_ARGUMENT,
             "needs the symbol {}: a plugin uses the host's table and links nothing of the core",
             text);
      }
    }
    return found;
  }
  return false;
}

}  // namespace

void check_library_file(const Pinned& file) {
  const Elf64_Ehdr header = read_header(file);
  check_segments(file, header);
  if (!exports_entry(file, header).value_or(true))
    fail(TN_INVALID_ARGUMENT, "does not export {}: not a Tenon plugin", kEntry);
}

}  // namespace tenon::core
