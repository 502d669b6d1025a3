// Tables of comma-separated values (RFC 4180), plain or compressed by gzip. Link with zlib.
#ifndef TENON_DATA_CSV_HPP
#define TENON_DATA_CSV_HPP

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/data/detail/stream.hpp"
#include "tenon/tenon.hpp"

namespace tenon::data {

struct CsvOptions {
  char delimiter = ',';
  bool header = true;              // the first row holds names
  std::vector<int64_t> text = {};  // columns that are kept as text; all others are numbers
  bool empty_is_nan = false;       // otherwise an empty number is an error
  DType dtype = DType::F32;        // of the numbers
  // The most bytes that a compressed file may unpack to, since memory must hold them.
  uint64_t max_unpacked = uint64_t{4} << 30;
};

struct CsvTable {
  std::vector<std::string> names;              // of all columns; empty without a header
  Tensor numbers;                              // rows × numeric columns
  std::vector<std::vector<std::string>> text;  // of each text column, in the order of the options
  int64_t rows = 0;
};

namespace detail {

// Splits text into rows of fields and remembers where each began.
class CsvReader {
 public:
  struct Field {
    std::string text;
    size_t at;
    bool quoted;
  };
  CsvReader(std::string_view text, const io::detail::Source& file, char delimiter)
      : text_(text), file_(file), delimiter_(delimiter) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }
  [[noreturn]] void fail(size_t at, const std::string& reason) const { file_.fail(at, reason); }
  // False at the end. Skips empty lines.
  bool row(std::vector<Field>& fields) {
    fields.clear();
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    if (at_ >= text_.size()) return false;
    while (true) {
      fields.push_back(field());
      if (at_ >= text_.size()) return true;
      const char c = text_[at_++];
      if (c == delimiter_) continue;
      if (c == '\r' && at_ < text_.size() && text_[at_] == '\n') ++at_;
      return true;
    }
  }

 private:
  Field field() {
    Field out{"", at_, at_ < text_.size() && text_[at_] == '"'};
    if (out.quoted) {
      quoted(out);
      return out;
    }
    while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n' &&
           text_[at_] != '\r') {
      if (text_[at_] == '"') fail(at_, "a quote inside a field that does not begin with one");
      out.text += text_[at_++];
    }
    return out;
  }
  void quoted(Field& out) {
    for (++at_;; ++at_) {
      if (at_ >= text_.size()) fail(out.at, "a quoted field without end");
      if (text_[at_] != '"') {
        out.text += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        out.text += text_[at_++];
      } else {
        ++at_;
        break;
      }
    }
    if (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n' && text_[at_] != '\r')
      fail(at_, "text behind the closing quote");
  }
  std::string_view text_;
  const io::detail::Source& file_;
  char delimiter_;
  size_t at_ = 0;
};

inline double parse_number(const CsvReader& reader, const CsvReader::Field& field,
                           const CsvOptions& options) {
  std::string_view text = field.text;
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.empty()) {
    if (options.empty_is_nan) return std::numeric_limits<double>::quiet_NaN();
    reader.fail(field.at, "an empty field where a number is expected");
  }
  if (text.front() == '+') text.remove_prefix(text.starts_with("+-") ? 0 : 1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    reader.fail(field.at, "\"" + field.text + "\" is beyond the range of numbers");
  if (error != std::errc() || end != text.data() + text.size())
    reader.fail(field.at, "\"" + field.text + "\" is no number");
  return value;
}

inline std::string read_text(const io::detail::Source& file, uint64_t max_unpacked) {
  Stream stream(file);
  std::string text;
  // A first guess: twice the packed size. Text usually packs better.
  uint64_t step = file.size() * (stream.is_compressed() ? 2 : 1) + 1;
  while (true) {
    const size_t begin = text.size();
    if (stream.is_compressed()) step = std::min(step, max_unpacked - begin) + 1;
    text.resize(begin + step);
    const uint64_t n = stream.read_some(text.data() + begin, step);
    text.resize(begin + n);
    if (stream.is_compressed() && text.size() > max_unpacked)
      throw Error(TN_OUT_OF_RANGE, file.where() + ": it unpacks to more than the " +
                                       std::to_string(max_unpacked) +
                                       " bytes that CsvOptions::max_unpacked allows");
    if (n < step) return text;
    step = text.size();
  }
}

inline void check_options(const CsvOptions& options, const std::string& where) {
  const char c = options.delimiter;
  if (c == '"' || c == '\n' || c == '\r')
    throw Error(TN_INVALID_ARGUMENT,
                where + ": a quote or a line's end cannot be the delimiter of fields");
  for (size_t i = 0; i < options.text.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      if (options.text[i] == options.text[k])
        throw Error(TN_INVALID_ARGUMENT,
                    where + ": text column " + std::to_string(options.text[i]) + " is named twice");
}

// Stores each field of a row as a number or in its text column.
inline void add_row(const CsvReader& reader, std::vector<CsvReader::Field>& fields,
                    const CsvOptions& options, CsvTable& table, std::vector<double>& numbers) {
  for (size_t c = 0; c < fields.size(); ++c) {
    const auto kept = std::ranges::find(options.text, static_cast<int64_t>(c));
    if (kept == options.text.end())
      numbers.push_back(parse_number(reader, fields[c], options));
    else
      table.text[static_cast<size_t>(kept - options.text.begin())].push_back(
          std::move(fields[c].text));
  }
  ++table.rows;
}

inline CsvTable parse_csv(const io::detail::Source& file, const CsvOptions& options) {
  check_options(options, file.where());
  const std::string text = read_text(file, options.max_unpacked);
  CsvReader reader(text, file, options.delimiter);
  CsvTable table;
  table.text.resize(options.text.size());
  std::vector<CsvReader::Field> fields;
  std::vector<double> numbers;
  size_t width = 0;
  bool first = true;
  while (reader.row(fields)) {
    if (std::exchange(first, false)) {
      width = fields.size();
      for (int64_t column : options.text)
        if (column < 0 || column >= static_cast<int64_t>(width))
          throw Error(TN_OUT_OF_RANGE, file.where() + ": text column " + std::to_string(column) +
                                           " of " + std::to_string(width));
      if (options.header) {
        for (auto& field : fields) table.names.push_back(std::move(field.text));
        continue;
      }
    }
    if (fields.size() != width)
      reader.fail(fields[0].at, "a row of " + std::to_string(fields.size()) + " fields, expected " +
                                    std::to_string(width));
    add_row(reader, fields, options, table, numbers);
  }
  const int64_t columns = static_cast<int64_t>(width - std::min(width, options.text.size()));
  table.numbers = tensor(numbers, {table.rows, columns}, options.dtype);
  return table;
}

}  // namespace detail

// Errors name the file, the byte in the unpacked text, and the reason.
inline CsvTable read_csv(const std::string& path, const CsvOptions& options = {}) {
  return io::detail::with_memory_errors("[read_csv] " + path, [&] {
    return detail::parse_csv(io::detail::InputFile(path, "read_csv"), options);
  });
}

}  // namespace tenon::data
#endif
