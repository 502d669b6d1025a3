// CSV: every row has every column, whatever the options are.
#include "memory.hpp"
#include "target.hpp"
#include "tenon/data.hpp"

TENON_FUZZ_TARGET(csv) {
  Steering steering(bytes);
  const uint8_t flags = steering.byte();
  data::CsvOptions options;
  options.header = (flags & 1) != 0;
  options.empty_is_nan = (flags & 2) != 0;
  options.dtype = (flags & 4) != 0 ? DType::F64 : DType::F32;
  options.delimiter = (flags & 8) != 0 ? ';' : (flags & 16) != 0 ? static_cast<char>(flags) : ',';
  if ((flags & 32) != 0) options.text = {(flags & 64) != 0 ? 1 : 0};
  if ((flags & 128) != 0) options.text.push_back(2);
  options.max_unpacked = 1 << 16;
  const MemorySource file(steering.rest());
  accepted([&] {
    const data::CsvTable table = data::detail::parse_csv(file, options);
    require(table.numbers.shape(0) == table.rows, "rows without numbers");
    require(table.text.size() == options.text.size(), "columns of text are missing");
    for (const auto& column : table.text)
      require(static_cast<int64_t>(column.size()) == table.rows, "rows without text");
    const auto width = static_cast<size_t>(table.numbers.shape(1)) + options.text.size();
    require(!options.header || table.names.empty() || table.names.size() == width,
            "a column without a name");
  });
}
