#include "symbols.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "tenon/tenon.hpp"

namespace tenon::conformance {
namespace {

class File {
 public:
  explicit File(const std::string& path) : path_(path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(TN_IO, path + ": cannot be read");
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }
  template <class T>
  T at(uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) truncated();
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text(uint64_t offset) const {
    if (offset >= bytes_.size()) truncated();
    return bytes_.substr(offset, bytes_.find('\0', offset) - offset);
  }

 private:
  [[noreturn]] void truncated() const {
    throw Error(TN_DATA_LOSS, path_ + ": not a whole ELF library");
  }
  std::string path_, bytes_;
};

}  // namespace

Symbols read_symbols(const std::string& path) {
  const File file(path);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    throw Error(TN_DATA_LOSS, path + ": not a 64-bit ELF library");
  Symbols symbols;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = file.at<Elf64_Shdr>(header.e_shoff + i * header.e_shentsize);
    if (section.sh_type != SHT_DYNSYM || section.sh_entsize < sizeof(Elf64_Sym)) continue;
    const auto names =
        file.at<Elf64_Shdr>(header.e_shoff + uint64_t{section.sh_link} * header.e_shentsize);
    for (uint64_t at = section.sh_entsize; at < section.sh_size; at += section.sh_entsize) {
      const auto symbol = file.at<Elf64_Sym>(section.sh_offset + at);
      const std::string name = file.text(names.sh_offset + symbol.st_name);
      const auto binding = ELF64_ST_BIND(symbol.st_info);
      if (symbol.st_shndx == SHN_UNDEF)
        symbols.undefined.push_back(name);
      else if (binding != STB_LOCAL && symbol.st_shndx < SHN_LORESERVE &&
               ELF64_ST_TYPE(symbol.st_info) != STT_SECTION)
        symbols.exported.push_back(name);
    }
  }
  return symbols;
}

}  // namespace tenon::conformance
