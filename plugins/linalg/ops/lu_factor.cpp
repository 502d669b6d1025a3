// The factorisation P·L·U itself (LAPACK getrf), and the order of rows that its exchanges make.
#include <numeric>

#include "../kernels.hpp"
#include "../matrix.hpp"
#include "../positions.hpp"

namespace tenon::linalg {

template <class T>
void lu_factor(const sdk::Call& call) {
  using result = arg::lu_factor::result;
  const Matrices<const T> from(call.in(arg::lu_factor::x));
  const int m = to_int(from.rows()), n = to_int(from.columns()), k = std::min(m, n);
  T* out = sdk::data<T>(call.out(result::LU));
  auto* pivots = sdk::data<int32_t>(call.out(result::pivots));
  auto* infos = sdk::data<int32_t>(call.out(result::info));
  const WholeMachine machine(from.count(), k);
  each_matrix(from.count(), 1.0 * m * n * k, [&] {
    return [&, a = std::vector<T>(int64_t{m} * n)](int64_t i) mutable {
      int info = 0;
      if (k > 0) {
        load_columns(from, i, a.data());
        lapack<T>().getrf(&m, &n, a.data(), &m, pivots + i * k, &info);
        check_arguments(info);
        store_columns(a.data(), m, m, n, out + i * m * n);
      }
      infos[i] = info;
    };
  });
}
TN_LINALG_TYPES(lu_factor)

void row_order(const sdk::Call& call) {
  const tn_view& pivots = call.in(arg::row_order::pivots);
  const int64_t k = pivots.shape[pivots.ndim - 1];
  const int64_t rows = call.integer(arg::row_order::rows);
  auto* order = sdk::data<int64_t>(call.out());
  const int64_t count = sdk::numel(call.out()) / std::max<int64_t>(rows, 1);
  const auto* pivot = sdk::data<const int32_t>(pivots);
  for (int64_t i = 0; i < count; ++i, order += rows) {
    std::iota(order, order + rows, int64_t{0});
    for (int64_t j = 0; j < k; ++j) {
      const int64_t other = *pivot++;
      if (other < 1 || other > rows)
        sdk::fail(TN_OUT_OF_RANGE, "pivot ", other, " is not one of the rows 1 to ", rows);
      std::swap(order[j], order[other - 1]);
    }
  }
}

}  // namespace tenon::linalg
