// Turns calls of attention_packed and its backward op into the equivalent calls of attention and attention_backward, over views of their
// operands and results. Kernels that accept any strides then need no extra code.
#ifndef TENON_PLUGINS_COMMON_ATTENTION_PACKED_HPP
#define TENON_PLUGINS_COMMON_ATTENTION_PACKED_HPP

#include <array>

#include "dtype.hpp"
#include "tenon/plugin.h"
#include "tenon/schemas.h"

namespace tenon {

// Must not outlive the call that it replaces.
class UnpackedAttention {
 public:
  UnpackedAttention(const tn_call& packed, bool is_backward) : call_(packed) {
    is_backward ? read_backward(packed) : read_forward(packed);
    call_.args = args_.data();
    call_.outs = outs_.data();
  }
  UnpackedAttention(const UnpackedAttention&) = delete;
  UnpackedAttention& operator=(const UnpackedAttention&) = delete;

  const tn_call& call() const { return call_; }

 private:
  // (B, H, L, E), whatever the order of the dimensions in memory.
  struct View {
    tn_view view;
    std::array<int64_t, 4> shape, strides;

    const tn_view* see(const tn_view& of, const std::array<uint32_t, 4>& dims, int64_t first) {
      view = of;
      for (uint32_t d = 0; d < 4; ++d) {
        shape[d] = of.shape[dims[d]];
        strides[d] = of.strides[dims[d]];
      }
      view.ndim = 4;
      view.shape = shape.data();
      view.strides = strides.data();
      view.flags &= ~uint32_t{TN_VIEW_CONTIGUOUS};
      const int64_t bytes = first * static_cast<int64_t>(size_of(of.dtype));
      if (view.data != nullptr) view.data = static_cast<char*>(view.data) + bytes;
      view.offset += bytes;
      return &view;
    }
    // From (B, L, H, E).
    const tn_view* heads_first(const tn_view& of) { return see(of, {0, 2, 1, 3}, 0); }
    // q, k or v of (B, L, 3, H, E).
    const tn_view* part(const tn_view& of, int64_t which) {
      return see(of, {0, 3, 1, 4}, which * of.strides[2]);
    }
  };

  void read_forward(const tn_call& packed) {
    using from = arg::attention_packed;
    using to = arg::attention;
    const tn_view& qkv = *packed.args[from::qkv].as.view;
    set(to::q, q_.part(qkv, 0));
    set(to::k, k_.part(qkv, 1));
    set(to::v, v_.part(qkv, 2));
    args_[to::mask] = packed.args[from::mask];
    args_[to::causal] = packed.args[from::causal];
    args_[to::scale] = packed.args[from::scale];
    outs_[to::result::y] = y_.heads_first(*packed.outs[from::result::y]);
    outs_[to::result::lse] = packed.outs[from::result::lse];
    call_.nargs = to::scale + 1;
    call_.nouts = to::result::lse + 1;
  }
  void read_backward(const tn_call& packed) {
    using from = arg::attention_packed_backward;
    using to = arg::attention_backward;
    const tn_view &qkv = *packed.args[from::qkv].as.view, &gqkv = *packed.outs[0];
    set(to::g, g_.heads_first(*packed.args[from::g].as.view));
    set(to::q, q_.part(qkv, 0));
    set(to::k, k_.part(qkv, 1));
    set(to::v, v_.part(qkv, 2));
    set(to::y, y_.heads_first(*packed.args[from::y].as.view));
    args_[to::lse] = packed.args[from::lse];
    args_[to::glse] = packed.args[from::glse];
    args_[to::mask] = packed.args[from::mask];
    args_[to::causal] = packed.args[from::causal];
    args_[to::scale] = packed.args[from::scale];
    outs_[to::result::gq] = gq_.part(gqkv, 0);
    outs_[to::result::gk] = gk_.part(gqkv, 1);
    outs_[to::result::gv] = gv_.part(gqkv, 2);
    call_.nargs = to::scale + 1;
    call_.nouts = to::result::gv + 1;
  }
  void set(uint32_t arg, const tn_view* view) {
    args_[arg].tag = TN_VALUE_VIEW;
    args_[arg].as.view = view;
  }

  tn_call call_;
  View q_, k_, v_, g_, y_, gq_, gk_, gv_;
  std::array<tn_value, arg::attention_backward::scale + 1> args_{};
  std::array<const tn_view*, 3> outs_{};
};

}  // namespace tenon
#endif
