// Shapes and dtypes of results, and errors in arguments. Batches are the dimensions before the last two.
#pragma once

#include "../common/infer.hpp"

namespace tenon::linalg {

void like_square(const host::Views& in, const host::Results& out);  // x (…, n, n) -> (…, n, n)
void factor_and_info(const host::Views& in,
                     const host::Results& out);  // x (…, n, n) -> (…, n, n), i32 (…)
void lu_and_pivots(const host::Views& in,
                   const host::Results& out);  // x (…, m, n) -> (…, m, n), i32 (…, k), i32 (…)
void order_of_rows(const host::Views& in,
                   const host::Results& out);  // pivots i32 (…, k), m -> i64 (…, m)
void of_square(const host::Views& in, const host::Results& out);  // x (…, n, n) -> (…)
void sign_and_log(const host::Views& in, const host::Results& out);  // x (…, n, n) -> (…), real (…)
void solution(const host::Views& in,
              const host::Results& out);  // a (…, n, n), b (…, n, k) -> (…, n, k)
void solution_and_info(const host::Views& in, const host::Results& out);  // and i32 (…)
void eigenpairs(const host::Views& in,
                const host::Results& out);  // x (…, n, n) -> real (…, n), (…, n, n)
void eigenvalues(const host::Views& in, const host::Results& out);  // x (…, n, n) -> real (…, n)
void general_eigenpairs(const host::Views& in,
                        const host::Results& out);  // x (…, n, n) -> complex (…, n), (…, n, n)
void general_eigenvalues(const host::Views& in, const host::Results& out);
void q_and_r(const host::Views& in,
             const host::Results& out);  // x (…, m, n), mode -> (…, m, q), (…, q, n)
void singular(const host::Views& in,
              const host::Results& out);  // x (…, m, n), bool -> U, real S, Vh
void singular_values(const host::Views& in,
                     const host::Results& out);  // x (…, m, n) -> real (…, k)
void like_adjoint(const host::Views& in, const host::Results& out);  // x (…, m, n) -> (…, n, m)

}  // namespace tenon::linalg
