// Batches of matrices in LAPACK's form: copied from any strides, one after the other.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "../common/parallel.hpp"
#include "lapack.hpp"
#include "tenon/plugin.hpp"

namespace tenon::linalg {

inline int to_int(int64_t n) { return static_cast<int>(n); }  // shape rules have checked it

// The last two dimensions of a tensor, for each index of the others.
template <class T>
class Matrices {
 public:
  explicit Matrices(const tn_view& view) : Matrices(view, sdk::shape(view).first(view.ndim - 2)) {}
  // Counted over a batch that the tensor's own batch broadcasts to.
  Matrices(const tn_view& view, std::span<const int64_t> batch)
      : view_(view), batch_(batch), lead_(static_cast<int64_t>(batch.size()) - (view.ndim - 2)) {
    for (const int64_t size : batch) count_ *= size;
  }
  int64_t count() const { return count_; }
  int64_t rows() const { return view_.shape[view_.ndim - 2]; }
  int64_t columns() const { return view_.shape[view_.ndim - 1]; }
  int64_t row_stride() const { return view_.strides[view_.ndim - 2]; }
  int64_t column_stride() const { return view_.strides[view_.ndim - 1]; }
  // First element of matrix i.
  T* at(int64_t i) const {
    int64_t offset = 0;
    for (auto d = static_cast<int64_t>(batch_.size()); d-- > 0; i /= batch_[d])
      if (d >= lead_ && view_.shape[d - lead_] != 1)
        offset += i % batch_[d] * view_.strides[d - lead_];
    return static_cast<T*>(view_.data) + offset;
  }
  // "matrix (1, 0) of the batch", for errors.
  std::string name(int64_t i) const {
    if (batch_.empty()) return "the matrix";
    std::vector<int64_t> index(batch_.size());
    for (size_t d = batch_.size(); d-- > 0; i /= batch_[d]) index[d] = i % batch_[d];
    std::string text = "matrix (";
    for (size_t d = 0; d < index.size(); ++d)
      text.append(d == 0 ? "" : ", ").append(std::to_string(index[d]));
    return text.append(") of the batch");
  }

 private:
  const tn_view& view_;
  std::span<const int64_t> batch_;
  int64_t lead_;
  int64_t count_ = 1;
};

// to[i·step + j] = from(i, j), in tiles that stay in the cache if one side is read across.
template <class T>
void copy_rows(const T* from, int64_t row_stride, int64_t column_stride, int64_t rows,
               int64_t columns, T* to, int64_t step) {
  if (column_stride == 1) {
    for (int64_t i = 0; i < rows && columns > 0; ++i)
      std::memcpy(to + i * step, from + i * row_stride, static_cast<size_t>(columns) * sizeof(T));
    return;
  }
  constexpr int64_t kTile = 32;
  for (int64_t i0 = 0; i0 < rows; i0 += kTile)
    for (int64_t j0 = 0; j0 < columns; j0 += kTile)
      for (int64_t i = i0; i < std::min(i0 + kTile, rows); ++i)
        for (int64_t j = j0; j < std::min(j0 + kTile, columns); ++j)
          to[i * step + j] = from[i * row_stride + j * column_stride];
}

// Row by row. LAPACK reads column by column and sees the transpose, which suits most routines.
template <class T>
void load(const Matrices<const T>& m, int64_t i, T* to) {
  copy_rows(m.at(i), m.row_stride(), m.column_stride(), m.rows(), m.columns(), to, m.columns());
}
// Column by column: what LAPACK calls the matrix.
template <class T>
void load_columns(const Matrices<const T>& m, int64_t i, T* to) {
  copy_rows(m.at(i), m.column_stride(), m.row_stride(), m.columns(), m.rows(), to, m.rows());
}
// (A + Aᴴ)/2 in place, so that a symmetric decomposition reads all of A and its gradient matches that.
template <class T>
void make_symmetric(T* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      const T mean = a[i * n + j] * Real<T>(0.5) + conj(a[j * n + i]) * Real<T>(0.5);
      a[i * n + j] = mean;
      a[j * n + i] = conj(mean);
    }
}
// From columns, `step` apart, to rows.
template <class T>
void store_columns(const T* from, int64_t step, int64_t rows, int64_t columns, T* to) {
  copy_rows(from, 1, step, rows, columns, to, columns);
}

// A workspace of the size that the routine asks for.
template <class T>
std::vector<T> workspace(T answer) {
  const double size = std::real(answer);
  // The routine returns the size as an element: float is exact only up to 2^24.
  const double roomy = std::max(1.0, size * (1 + 1e-6) + 1);
  if (roomy > 2147483647.0)
    sdk::fail(TN_INVALID_ARGUMENT, "the matrices are too large: LAPACK would need a workspace of ",
              size, " elements and counts to 2147483647");
  return std::vector<T>(static_cast<size_t>(roomy));
}

// worker(i) for every matrix; make() gives each thread its own worker. `cost`: about the number of multiplications for one.
template <class Make>
void each_matrix(int64_t count, double cost, Make&& make) {
  const double grain = 1e5 / std::max(cost, 1.0);  // a thread pays off from about 20 us of work
  host::parallel_ranges(count, grain < 1 ? 1 : static_cast<int64_t>(std::min(grain, 1e9)),
                        [&](int64_t begin, int64_t end) {
                          const Caller inside;
                          auto worker = make();
                          for (int64_t i = begin; i < end; ++i) worker(i);
                        });
}

// This would be a defect of the plugin: LAPACK names the argument it rejects.
inline void check_arguments(int info) {
  if (info < 0) sdk::fail(TN_INTERNAL, "LAPACK refuses its argument ", -info);
}

template <class T>
bool all_finite(const T* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (!std::isfinite(std::real(x[i])) || !std::isfinite(std::imag(x[i]))) return false;
  return true;
}

}  // namespace tenon::linalg
