#include "operands.hpp"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <cstring>

#include "tenon/tensor.h"

namespace tenon::fuzz {
namespace {

template <class T>
T element(Complex value) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return T(value);
  else if constexpr (std::is_same_v<T, bool>)
    return value.real() != 0;
  else if constexpr (std::is_integral_v<T>)
    // Out-of-range numbers cannot be converted; they become the nearest end of the range.
    return value.real() >= 0x1p63         ? std::numeric_limits<T>::max()
           : value.real() <= -0x1p63      ? std::numeric_limits<T>::min()
           : value.real() == value.real() ? static_cast<T>(static_cast<int64_t>(value.real()))
                                          : T{};
  else
    return T(
        static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value.real()));
}

template <class T>
void put(char* data, int64_t at, T value) {
  std::memcpy(data + at * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// Draws the elements of the whole buffer, then writes the tensor's values in row-major order.
void fill(const Operand& x, char* data) {
  visit(x.dtype, [&]<class T>(T) {
    Rng rng(x.fill);
    for (int64_t i = 0; i < x.count; ++i) {
      const double value = x.high - x.low < 0x1p52 ? rng.uniform(x.low, x.high) : x.low;
      put(data, i, element<T>(Complex(value, value / 2)));
    }
    Shape index(x.shape.size(), 0);
    for (const Complex& value : x.values) {
      int64_t at = x.first;
      for (size_t d = 0; d < index.size(); ++d) at += index[d] * x.strides[d];
      put(data, at, element<T>(value));
      for (size_t d = index.size(); d-- > 0 && ++index[d] == x.shape[d];) index[d] = 0;
    }
  });
}

size_t element_bytes(DType dtype) {
  return visit(dtype, []<class T>(T) { return sizeof(T); });
}

DLDataType code_of(DType dtype) {
  const uint8_t kCodes[] = {kDLBool,          kDLUInt,       kDLUInt,  kDLUInt,    kDLUInt,
                            kDLInt,           kDLInt,        kDLInt,   kDLInt,     kDLFloat,
                            kDLBfloat,        kDLFloat,      kDLFloat, kDLComplex, kDLComplex,
                            kDLFloat8_e4m3fn, kDLFloat8_e5m2};
  return {kCodes[static_cast<size_t>(dtype)], static_cast<uint8_t>(8 * element_bytes(dtype)), 1};
}

// Host memory that Tenon must not write to, passed in as another library would do it.
tn_status* import_read_only(const Operand& x, char* first, tn_tensor** out) {
  struct Import {
    DLManagedTensorVersioned managed{};
    Shape shape, strides;
  };
  auto import = std::make_unique<Import>();
  import->shape = x.shape, import->strides = x.strides;
  import->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  import->managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  import->managed.manager_ctx = import.get();
  import->managed.deleter = [](DLManagedTensorVersioned * self) {
    delete static_cast<Import*>(self->manager_ctx);
};
import->managed.dl_tensor = {first,
                             {kDLCPU, 0},
                             static_cast<int32_t>(x.shape.size()),
                             code_of(x.dtype),
                             import->shape.data(),
                             import->strides.data(),
                             0};
tn_status* status = tn_tensor_from_dlpack(&import->managed, out);
if (status == nullptr) static_cast<void>(import.release());  // its deleter frees it
return status;
}

}  // namespace

tn_tensor* Operands::make(const Operand& x) {
  const size_t size = element_bytes(x.dtype);
  memory_.push_back(std::make_unique<Guarded>(static_cast<size_t>(x.count) * size,
                                              x.at_end ? Guarded::At::End : Guarded::At::Start,
                                              x.unaligned ? 1 : 0));
  Guarded& memory = *memory_.back();
  if (x.count > 0) fill(x, memory.data());
  if (x.sealed) memory.seal();
  char* first = memory.data() + x.first * static_cast<int64_t>(size);
  tn_tensor* made = nullptr;
  tn_status* status =
      x.read_only ? import_read_only(x, first, &made)
                  : tn_tensor_wrap_host(first, static_cast<tn_dtype>(x.dtype),
                                        static_cast<uint32_t>(x.shape.size()), x.shape.data(),
                                        x.strides.data(), nullptr, nullptr, &made);
  if (status != nullptr) return tn_status_release(status), nullptr;
  if (x.requires_grad) tn_status_release(tn_tensor_set_requires_grad(made, 1));
  tensors_.emplace_back(made);
  return made;
}

tn_tensor* Operands::make_place(const tn_tensor* result, Rng& rng) {
  const int64_t* shape = tn_tensor_shape(result);
  Operand x = plain_operand(static_cast<DType>(tn_tensor_dtype(result)),
                            Shape(shape, shape + tn_tensor_ndim(result)));
  lay_out(x, rng);
  x.sealed = x.read_only = rng.integer(0, 12) == 0;
  return make(x);
}

bool Operands::intact() const {
  return std::ranges::all_of(memory_, [](const auto& memory) { return memory->intact(); });
}

std::vector<tn_tensor*> Operands::leaves() const {
  std::vector<tn_tensor*> found;
  for (const Held& tensor : tensors_)
    if (tn_tensor_requires_grad(tensor.get()) != 0 && tn_tensor_is_leaf(tensor.get()) != 0)
      found.push_back(tensor.get());
  return found;
}

}  // namespace tenon::fuzz
