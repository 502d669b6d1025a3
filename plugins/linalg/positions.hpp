// Positions in the schemas of plugin.cpp, like tenon/schemas.h for the core's ops. An op without an entry here only takes x.
#pragma once

#include <cstdint>

namespace tenon::linalg::arg {

struct inv {
  static constexpr uint32_t x = 0;
  struct result {
    static constexpr uint32_t inverse = 0, info = 1;  // of inv_ex
  };
};
struct solve {
  static constexpr uint32_t a = 0, b = 1;
  struct result {
    static constexpr uint32_t solution = 0, info = 1;  // of solve_ex
  };
};
struct slogdet {
  static constexpr uint32_t x = 0;
  struct result {
    static constexpr uint32_t sign = 0, logabsdet = 1;
  };
};
struct lu_factor {
  static constexpr uint32_t x = 0;
  struct result {
    static constexpr uint32_t LU = 0, pivots = 1, info = 2;
  };
};
struct row_order {
  static constexpr uint32_t pivots = 0, rows = 1;
};
struct cholesky {
  static constexpr uint32_t x = 0, upper = 1;
  struct result {
    static constexpr uint32_t L = 0, info = 1;  // of cholesky_ex
  };
};
struct solve_triangular {
  static constexpr uint32_t a = 0, b = 1, upper = 2;
};
struct qr {
  static constexpr uint32_t x = 0, mode = 1;
  struct result {
    static constexpr uint32_t Q = 0, R = 1;
  };
};
struct eigh {
  static constexpr uint32_t x = 0;
  struct result {
    static constexpr uint32_t eigenvalues = 0, eigenvectors = 1;
  };
};
struct eig {
  static constexpr uint32_t x = 0;
  struct result {
    static constexpr uint32_t eigenvalues = 0, eigenvectors = 1;
  };
};
struct svd {
  static constexpr uint32_t x = 0, full_matrices = 1;
  struct result {
    static constexpr uint32_t U = 0, S = 1, Vh = 2;
  };
};
struct pinv {
  static constexpr uint32_t x = 0, rtol = 1;
};

}  // namespace tenon::linalg::arg
