// GGUF: whatever a header describes can be read completely, with its type and shape.
#include "memory.hpp"
#include "target.hpp"
#include "tenon/io.hpp"

TENON_FUZZ_TARGET(gguf) {
  const MemorySource file(bytes);
  io::detail::GgufHeader header;
  if (!accepted([&] { header = io::detail::read_gguf_header(file); })) return;
  uint64_t together = 0;
  for (const io::detail::GgufEntry& entry : header.entries) {
    require(entry.begin + entry.bytes <= bytes.size(), "a tensor leaves the file");
    together += entry.bytes;
    const Tensor x = io::detail::read_gguf_tensor(file, entry, {});
    require(x.dtype() == entry.type->dtype && std::ranges::equal(x.shape(), entry.shape),
            "a tensor is not what the header says");
    const auto elements = static_cast<uint64_t>(x.numel());
    require(elements / entry.type->elements * entry.type->bytes == entry.bytes,
            "a tensor has not the bytes of its blocks");
  }
  require(together <= bytes.size(), "tensors share bytes");
}
