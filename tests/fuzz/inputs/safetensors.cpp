// Safetensors: whatever loads can be saved, and then loads unchanged.
#include <map>

#include "memory.hpp"
#include "target.hpp"
#include "tenon/io.hpp"

TENON_FUZZ_TARGET(safetensors) {
  const MemorySource file(bytes);
  io::TensorMap tensors;
  io::detail::Header header;
  if (!accepted([&] {
        header = io::detail::read_header(file);
        for (const io::detail::Entry& entry : header.entries)
          tensors.emplace(entry.name, io::detail::read_tensor(file, entry, header.base, {}));
      }))
    return;
  const std::string text =
      io::detail::header_of(io::detail::order_of(tensors, ""), header.metadata, "");
  const uint64_t length = io::detail::little_endian(text.size());
  std::string again(reinterpret_cast<const char*>(&length), 8);
  again += text;
  again.append(bytes.size() - header.base, '\0');
  const MemorySource written(again);
  const io::detail::Header second = io::detail::read_header(written);
  require(second.metadata == header.metadata, "the metadata changed");
  require(second.entries.size() == header.entries.size(), "the number of tensors changed");
  for (const io::detail::Entry& entry : second.entries) {
    const Tensor& x = tensors.at(entry.name);
    require(entry.dtype == x.dtype() && std::ranges::equal(entry.shape, x.shape()) &&
                entry.end - entry.begin == x.nbytes(),
            "a tensor changed");
  }
}
