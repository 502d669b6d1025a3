// Maps a model's file and the files beside it that hold its weights.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "model/model.hpp"
#include "tenon/tensor.hpp"

namespace tenon::onnx {

// A file, mapped privately: writing to the memory does not change the file.
class Mapping {
 public:
  // Every message begins with `where`.
  Mapping(const std::string& path, const std::string& where);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  Bytes bytes() const { return {data_, size_}; }
  // Takes pages of a part that nothing wrote to out of memory; they are read again when they are touched.
  void drop(Bytes part) const;

 private:
  unsigned char* data_ = nullptr;
  size_t size_ = 0;
};

class Files {
 public:
  explicit Files(const std::string& path);
  // For a model in memory, which must outlive this. It may not refer to files.
  Files(Bytes memory, std::string where) : where_(std::move(where)), memory_(memory) {}

  const std::string& where() const { return where_; }
  Bytes bytes() const { return main_ ? main_->bytes() : memory_; }
  // The elements of a tensor: in place if their layout allows it, otherwise a copy. Throws Error.
  Tensor tensor(const TensorProto& proto);

 private:
  struct Part {
    std::shared_ptr<const Mapping> file;  // null if in memory
    Bytes bytes;
  };
  [[noreturn]] void fail(const TensorProto& proto, const std::string& reason) const;
  Part external(const TensorProto& proto);
  std::shared_ptr<const Mapping> beside(const TensorProto& proto);
  int64_t count(const TensorProto& proto) const;
  Tensor in_place(const TensorProto& proto, DType dtype, const Part& part) const;
  Tensor listed(const TensorProto& proto, DType dtype, int64_t count) const;
  Tensor unpacked(const TensorProto& proto, const Part& part, int64_t count) const;

  std::string where_, folder_;
  std::shared_ptr<const Mapping> main_;
  Bytes memory_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Mapping>, std::less<>> beside_;
};

// The dtype for an ONNX type. Throws Error(TN_UNIMPLEMENTED) with `what` if Tenon has none.
DType dtype_of_type(Type type, const std::string& what);
// ONNX's name: "FLOAT", "INT64", …
std::string name_of_type(Type type);
// The type that elements are stored as here: INT8 for INT4, unchanged for most.
Type storage_of(Type type);
// The ONNX type for a dtype.
Type type_of_dtype(DType dtype);

}  // namespace tenon::onnx
