// Kernels of attention on devices: one for an op and its packed form.
#ifndef TENON_PLUGINS_COMMON_ATTENTION_KERNELS_HPP
#define TENON_PLUGINS_COMMON_ATTENTION_KERNELS_HPP

#include "attention_packed.hpp"
#include "device_kernels.hpp"

namespace tenon {

enum AttentionForm : uint32_t { kPlain, kPacked };

// fn(call) with the call, or with its plain equivalent if it is packed.
template <bool kBackward, class Fn>
auto with_plain_call(const tn_call& call, uint32_t form, Fn&& fn) {
  return form == kPacked ? fn(UnpackedAttention(call, kBackward).call()) : fn(call);
}

// Registers the kernel of an op for its packed form as well; functions get an AttentionForm as code.
inline void add_attention(KernelList& list, KernelSpec spec, std::string_view packed) {
  spec.flags = TN_KERNEL_STRIDED;
  spec.code = kPlain;
  list.add(spec);
  spec.schema = packed;
  spec.code = kPacked;
  list.add(spec);
}

}  // namespace tenon
#endif
