// A second translation unit that includes everything: headers must not define anything twice.
#include "tenon/tenon.hpp"

static_assert(std::is_nothrow_move_constructible_v<tenon::Tensor>);
static_assert(std::is_trivially_copyable_v<tenon::Operand>);
static_assert(sizeof(tenon::Tensor) == sizeof(void*));
static_assert(tenon::dtype_of<float> == tenon::DType::F32 &&
              tenon::dtype_of<long long> == tenon::DType::I64);
