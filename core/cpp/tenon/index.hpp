// NumPy's indexing: integers, slices, None, Ellipsis, integer and bool tensors; also for assignment.
#ifndef TENON_INDEX_HPP
#define TENON_INDEX_HPP

#include <memory>

#include "tenon/tensor.hpp"

namespace tenon {

struct NoneType {};
inline constexpr NoneType None{};     // a new dimension of size 1; in a Slice: not given
inline constexpr NoneType NewAxis{};  // the same
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis{};  // as many full slices as are missing

// start:stop:step; negative numbers count from the end.
struct Slice {
  struct Bound {
    std::optional<int64_t> value;
    Bound(std::integral auto position) : value(static_cast<int64_t>(position)) {}
    Bound(NoneType) {}
    Bound(std::nullopt_t) {}
  };
  std::optional<int64_t> start, stop;
  int64_t step = 1;
  Slice() = default;
  Slice(Bound stop_at) : stop(stop_at.value) {}
  Slice(Bound start_at, Bound stop_at, int64_t step_by = 1)
      : start(start_at.value), stop(stop_at.value), step(step_by) {}
};

// One entry of an index.
class Index {
 public:
  enum class Kind : uint8_t { Integer, Slice, NewDim, Rest, Tensor };
  Index(std::integral auto position) : kind_(Kind::Integer) {
    slice_.start = static_cast<int64_t>(position);
  }
  Index(bool) = delete;  // for a mask of rank 0 pass a bool tensor
  Index(Slice slice) : kind_(Kind::Slice), slice_(slice) {}
  Index(NoneType) : kind_(Kind::NewDim) {}
  Index(EllipsisType) : kind_(Kind::Rest) {}
  Index(Tensor tensor) : kind_(Kind::Tensor), tensor_(std::move(tensor)) {}

  Kind kind() const { return kind_; }
  int64_t integer() const { return *slice_.start; }
  const tenon::Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  tenon::Slice slice_;
  Tensor tensor_;
};

namespace detail {

// A resolved index: a view, and the tensors that select from it (undefined: the whole dimension).
struct ResolvedIndex {
  Tensor view;
  std::vector<Tensor> picks;
};

inline int64_t consumed_dims(const Index& index) {
  switch (index.kind()) {
    case Index::Kind::NewDim:
    case Index::Kind::Rest:
      return 0;
    case Index::Kind::Tensor:
      return index.tensor().dtype() == DType::Bool ? index.tensor().ndim() : 1;
    default:
      return 1;
  }
}

// Turns a mask into one list of positions for each dimension that it covers.
inline void add_picks(ResolvedIndex& out, const Tensor& index, int64_t& dim) {
  out.picks.resize(static_cast<size_t>(dim));
  if (index.dtype() != DType::Bool) {
    out.picks.push_back(index);
    ++dim;
    return;
  }
  const int64_t rank = index.ndim();
  for (int64_t d = 0; d < rank; ++d) {
    if (index.shape(d) != out.view.shape(dim + d))
      throw Error(TN_INVALID_ARGUMENT, "[index] a mask of size " + std::to_string(index.shape(d)) +
                                           " in dim " + std::to_string(dim + d) +
                                           " does not fit size " +
                                           std::to_string(out.view.shape(dim + d)));
  }
  const Tensor positions = nonzero(index);
  for (int64_t d = 0; d < rank; ++d) out.picks.push_back(select(positions, 1, d));
  dim += rank;
}

inline ResolvedIndex resolve_index(const Tensor& x, std::span<const Index> indices) {
  int64_t consumed = 0, ellipses = 0;
  for (const Index& index : indices) {
    consumed += consumed_dims(index);
    ellipses += index.kind() == Index::Kind::Rest;
  }
  if (ellipses > 1) throw Error(TN_INVALID_ARGUMENT, "[index] more than one Ellipsis");
  if (consumed > x.ndim())
    throw Error(TN_OUT_OF_RANGE, "[index] " + std::to_string(consumed) +
                                     " indices for a tensor of rank " + std::to_string(x.ndim()));
  ResolvedIndex out{x, {}};
  int64_t dim = 0;
  for (const Index& index : indices) {
    switch (index.kind()) {
      case Index::Kind::Integer:
        out.view = select(out.view, dim, index.integer());
        break;
      case Index::Kind::Slice: {
        const Slice& s = index.slice();
        if (s.start || s.stop || s.step != 1)
          out.view = slice(out.view, dim, s.start, s.stop, s.step);
        ++dim;
        break;
      }
      case Index::Kind::NewDim:
        out.view = unsqueeze(out.view, dim++);
        break;
      case Index::Kind::Rest:
        dim += x.ndim() - consumed;
        break;
      case Index::Kind::Tensor: {
        // A mask of rank 0 selects all or nothing along a new dimension.
        if (index.tensor().dtype() == DType::Bool && index.tensor().ndim() == 0) {
          out.view = unsqueeze(out.view, dim);
          add_picks(out, unsqueeze(index.tensor(), 0), dim);
        } else {
          add_picks(out, index.tensor(), dim);
        }
        break;
      }
    }
  }
  return out;
}

// Writes to the elements that an index names. Values are broadcast and converted to x's dtype and device.
inline void put(const Tensor& x, const ResolvedIndex& where, const Tensor& values,
                bool accumulate) {
  Tensor v = values.dtype() == x.dtype() ? values : cast(values, x.dtype());
  if (v.device() != x.device() && v.ndim() > 0) v = tenon::to(v, x.device());
  Tensor target = where.view;
  if (!where.picks.empty()) {
    const tn_value args[] = {value(target), value(TensorList(where.picks)), value(v),
                             value(accumulate)};
    call_into(op_index_put, args, 4, target);
  } else if (accumulate) {
    target.add_(v);
  } else {
    target.copy_(v);
  }
}

}  // namespace detail

// The result of x[…]: a tensor that you can also assign to. Index tensors copy the elements, but assigning still writes to x.
class Indexed : public Tensor {
 public:
  Indexed(const Tensor& source, detail::ResolvedIndex&& where)
      : Tensor(where.picks.empty() ? where.view : tenon::index(where.view, where.picks)),
        source_(source) {
    if (!where.picks.empty()) where_ = std::make_shared<detail::ResolvedIndex>(std::move(where));
  }
  Indexed(const Indexed&) = default;

  void operator=(const Tensor& values) && { write(values, false); }
  // Writing an element onto itself is harmless. NOLINTNEXTLINE(bugprone-unhandled-self-assignment)
  void operator=(const Indexed& values) && { write(values, false); }
  void operator=(const Scalar& value) && { write(full({}, value, dtype(), device()), false); }
  void operator+=(Operand values) && { write(add(values), false); }
  void operator-=(Operand values) && { write(sub(values), false); }
  void operator*=(Operand values) && { write(mul(values), false); }
  void operator/=(Operand values) && { write(div(values), false); }

 private:
  void write(const Tensor& values, bool accumulate) const {
    detail::put(source_, where_ ? *where_ : detail::ResolvedIndex{*this, {}}, values, accumulate);
  }
  Tensor source_;
  std::shared_ptr<detail::ResolvedIndex> where_;  // only if there are index tensors
};

inline Indexed Tensor::at(std::span<const Index> indices) const {
  return Indexed(*this, detail::resolve_index(*this, indices));
}
inline Indexed Tensor::operator[](const Index& index) const { return at({&index, 1}); }
inline Indexed Tensor::operator[](std::initializer_list<Index> indices) const {
  return at({indices.begin(), indices.size()});
}
inline Tensor& Tensor::index_put_(std::span<const Index> indices, const Tensor& values,
                                  bool accumulate) {
  detail::put(*this, detail::resolve_index(*this, indices), values, accumulate);
  return *this;
}
inline Tensor& Tensor::index_put_(std::initializer_list<Index> indices, const Tensor& values,
                                  bool accumulate) {
  return index_put_(std::span<const Index>(indices.begin(), indices.size()), values, accumulate);
}

}  // namespace tenon
#endif
