// Copies a table that came across the ABI from a side that may be older or newer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tenon::detail {

// The fields that both sides know; later ones are zero. struct_size is that of the copy.
template <class Table>
Table copy_known(const Table* from) {
  Table table{};
  if (from != nullptr)
    std::memcpy(static_cast<void*>(&table), from,
                std::min<size_t>(from->struct_size, sizeof table));
  table.struct_size = sizeof table;
  return table;
}

}  // namespace tenon::detail
