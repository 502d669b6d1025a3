#include "model/files.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "tenon/creation.hpp"
#include "tenon/io.hpp"

namespace tenon::onnx {

namespace fs = std::filesystem;

Mapping::Mapping(const std::string& path, const std::string& where) {
  io::detail::require_path(path, where);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) io::detail::fail_system(where, "cannot be opened");
  io::detail::require_regular(info, where);
  const io::detail::Descriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) io::detail::fail_system(where, "cannot be opened");
  if (::fstat(file.get(), &info) != 0) io::detail::fail_system(where, "cannot be examined");
  io::detail::require_regular(info, where);
  size_ = static_cast<size_t>(info.st_size);
  if (size_ == 0) return;
  void* const data =
      ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (data == MAP_FAILED) io::detail::fail_system(where, "cannot be mapped");
  data_ = static_cast<unsigned char*>(data);
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

void Mapping::drop(Bytes part) const {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t from = (begin + page - 1) / page * page, to = (begin + part.size()) / page * page;
  if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

Files::Files(const std::string& path)
    : where_("[onnx] " + path),
      folder_(fs::path(path).parent_path().string()),
      main_(std::make_shared<const Mapping>(path, where_)) {
  if (folder_.empty()) folder_ = ".";
}

void Files::fail(const TensorProto& proto, const std::string& reason) const {
  throw Error(TN_DATA_LOSS, where_ + ": tensor '" + std::string(proto.name) + "': " + reason);
}

namespace {

struct TypeName {
  Type type;
  const char* name;
  std::optional<DType> dtype;
};
const TypeName kTypes[] = {
    {Type::F32, "FLOAT", DType::F32},
    {Type::U8, "UINT8", DType::U8},
    {Type::I8, "INT8", DType::I8},
    {Type::U16, "UINT16", DType::U16},
    {Type::I16, "INT16", DType::I16},
    {Type::I32, "INT32", DType::I32},
    {Type::I64, "INT64", DType::I64},
    {Type::String, "STRING", {}},
    {Type::Bool, "BOOL", DType::Bool},
    {Type::F16, "FLOAT16", DType::F16},
    {Type::F64, "DOUBLE", DType::F64},
    {Type::U32, "UINT32", DType::U32},
    {Type::U64, "UINT64", DType::U64},
    {Type::C64, "COMPLEX64", DType::C64},
    {Type::C128, "COMPLEX128", DType::C128},
    {Type::BF16, "BFLOAT16", DType::BF16},
    {Type::F8E4M3FN, "FLOAT8E4M3FN", DType::F8E4M3},
    {Type::F8E4M3FNUZ, "FLOAT8E4M3FNUZ", {}},
    {Type::F8E5M2, "FLOAT8E5M2", DType::F8E5M2},
    {Type::F8E5M2FNUZ, "FLOAT8E5M2FNUZ", {}},
    {Type::U4, "UINT4", {}},
    {Type::I4, "INT4", {}},
    {Type::F4E2M1, "FLOAT4E2M1", {}},
    {Type::F8E8M0, "FLOAT8E8M0", {}},
    {Type::U2, "UINT2", {}},
    {Type::I2, "INT2", {}},
};

// Unpacks integers of less than a byte to I8 or U8.
int bits_of(Type type) {
  if (type == Type::U4 || type == Type::I4) return 4;
  if (type == Type::U2 || type == Type::I2) return 2;
  return 0;
}

}  // namespace

Type storage_of(Type type) {
  if (bits_of(type) == 0) return type;
  return type == Type::I4 || type == Type::I2 ? Type::I8 : Type::U8;
}

std::string name_of_type(Type type) {
  for (const TypeName& known : kTypes)
    if (known.type == type) return known.name;
  return "type " + std::to_string(static_cast<int64_t>(type));
}

Type type_of_dtype(DType dtype) {
  for (const TypeName& known : kTypes)
    if (known.dtype == dtype) return known.type;
  return Type::Undefined;
}

DType dtype_of_type(Type type, const std::string& what) {
  for (const TypeName& known : kTypes)
    if (known.type == type && known.dtype) return *known.dtype;
  throw Error(TN_UNIMPLEMENTED,
              what + " is of " + name_of_type(type) + ", which Tenon does not have");
}

int64_t Files::count(const TensorProto& proto) const {
  int64_t count = 1;
  if (proto.dims.size() > TN_MAX_DIMS)
    fail(proto, std::to_string(proto.dims.size()) + " dimensions, more than " +
                    std::to_string(TN_MAX_DIMS));
  for (const int64_t size : proto.dims)
    if (size < 0 || __builtin_mul_overflow(count, size, &count) || count > (int64_t{1} << 48))
      fail(proto, "a size of " + std::to_string(size));
  return count;
}

std::shared_ptr<const Mapping> Files::beside(const TensorProto& proto) {
  const fs::path location(proto.location);
  if (location.empty() || proto.location.find('\0') != std::string_view::npos ||
      location.is_absolute())
    fail(proto, "its data lie in '" + std::string(proto.location) +
                    "', which is no path within the model's folder");
  if (folder_.empty()) fail(proto, "its data lie in a file, and the model does not");
  std::error_code error;
  const fs::path root = fs::canonical(folder_, error);
  const fs::path whole = fs::weakly_canonical(root / location, error);
  const auto [end, inside] = std::mismatch(root.begin(), root.end(), whole.begin(), whole.end());
  if (error || end != root.end())
    fail(proto, "its data lie in '" + std::string(proto.location) +
                    "', which leads out of the model's folder");
  const std::lock_guard lock(mutex_);
  auto& file = beside_[whole.string()];
  if (!file)
    file = std::make_shared<const Mapping>(
        whole.string(), where_ + ": tensor '" + std::string(proto.name) + "': " + whole.string());
  return file;
}

Files::Part Files::external(const TensorProto& proto) {
  const std::shared_ptr<const Mapping> file = beside(proto);
  const auto number = [&](std::string_view text, size_t otherwise) {
    size_t value = otherwise;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (!text.empty() && (error != std::errc() || end != text.data() + text.size()))
      fail(proto, "'" + std::string(text) + "' as a place in a file");
    return value;
  };
  const Bytes all = file->bytes();
  const size_t offset = number(proto.offset, 0);
  if (offset > all.size()) fail(proto, "its data begin behind the end of their file");
  const size_t length = number(proto.length, all.size() - offset);
  if (length > all.size() - offset)
    fail(proto, "its data end at byte " + std::to_string(offset) + " + " + std::to_string(length) +
                    " of a file of " + std::to_string(all.size()));
  return {file, all.subspan(offset, length)};
}

Tensor Files::in_place(const TensorProto& proto, DType dtype, const Part& part) const {
  const auto address = reinterpret_cast<uintptr_t>(part.bytes.data());
  if (part.file && address % size_of(dtype) == 0 && dtype != DType::Bool && !part.bytes.empty())
    return from_blob(const_cast<unsigned char*>(part.bytes.data()), dtype, proto.dims, {},
                     [file = part.file] {});
  if (dtype == DType::Bool)
    for (const unsigned char byte : part.bytes)
      if (byte > 1) fail(proto, "a bool that is neither 0 nor 1");
  tn_tensor* made = nullptr;
  detail::check(tn_tensor_from_host(
      part.bytes.data(), part.bytes.size(), static_cast<tn_dtype>(dtype),
      static_cast<uint32_t>(proto.dims.size()), proto.dims.data(), nullptr, &made));
  if (part.file) part.file->drop(part.bytes);
  return Tensor::adopt(made);
}

// Elements stored in typed fields: those of up to 16 bits as integers, floats by their bits.
Tensor Files::listed(const TensorProto& proto, DType dtype, int64_t count) const {
  const auto n = static_cast<size_t>(count);
  const auto require = [&](size_t found) {
    if (found != n)
      fail(proto, std::to_string(found) + " elements, where its shape has " + std::to_string(n));
  };
  // The field for elements of this dtype; a file may fill other fields, too.
  const void* from = nullptr;
  if (dtype == DType::F32 || dtype == DType::C64) {
    require(proto.floats.size() / (dtype == DType::C64 ? 2 : 1));
    from = proto.floats.data();
  } else if (dtype == DType::F64 || dtype == DType::C128) {
    require(proto.doubles.size() / (dtype == DType::C128 ? 2 : 1));
    from = proto.doubles.data();
  } else {
    require(proto.integers.size());
  }
  Tensor made = empty(proto.dims, dtype);
  auto* const to = static_cast<unsigned char*>(tn_tensor_data(made.get()));
  const size_t size = size_of(dtype);
  if (n == 0) return made;
  if (from != nullptr) {
    std::memcpy(to, from, n * size);
  } else {
    for (size_t i = 0; i < n; ++i) {
      const int64_t value = dtype == DType::Bool ? proto.integers[i] != 0 : proto.integers[i];
      std::memcpy(to + i * size, &value, size);  // little-endian: the low bytes
    }
  }
  return made;
}

Tensor Files::unpacked(const TensorProto& proto, const Part& part, int64_t count) const {
  const int bits = bits_of(proto.type);
  const bool is_signed = proto.type == Type::I4 || proto.type == Type::I2;
  const int each = 8 / bits;
  Bytes bytes = part.bytes;
  std::vector<unsigned char> listed;
  if (!proto.has_raw && !proto.external) {
    for (const int64_t one : proto.integers) listed.push_back(static_cast<unsigned char>(one));
    bytes = listed;
  }
  if (bytes.size() != static_cast<size_t>((count + each - 1) / each))
    fail(proto, std::to_string(bytes.size()) + " bytes for " + std::to_string(count) +
                    " elements of " + name_of_type(proto.type));
  std::vector<int8_t> elements(static_cast<size_t>(count));
  for (size_t i = 0; i < elements.size(); ++i) {
    const int shift = static_cast<int>(i % static_cast<size_t>(each)) * bits;
    const int value = (bytes[i / static_cast<size_t>(each)] >> shift) & ((1 << bits) - 1);
    const bool negative = is_signed && (value >> (bits - 1)) != 0;
    elements[i] = static_cast<int8_t>(negative ? value - (1 << bits) : value);
  }
  const Tensor made = tenon::tensor(elements, proto.dims);
  return is_signed ? made : made.to(DType::U8);
}

Tensor Files::tensor(const TensorProto& proto) {
  const int64_t elements = count(proto);
  Part part{main_, proto.raw};
  if (proto.external) part = external(proto);
  if (bits_of(proto.type) != 0) return unpacked(proto, part, elements);
  const DType dtype =
      dtype_of_type(proto.type, where_ + ": tensor '" + std::string(proto.name) + "'");
  if (!proto.has_raw && !proto.external) return listed(proto, dtype, elements);
  if (part.bytes.size() != static_cast<uint64_t>(elements) * size_of(dtype))
    fail(proto, std::to_string(part.bytes.size()) + " bytes for " + std::to_string(elements) +
                    " elements of " + name_of_type(proto.type));
  return in_place(proto, dtype, part);
}

}  // namespace tenon::onnx
