// The weights of an anchor in oneDNN's layouts, with those of a batch norm behind it.
#include <algorithm>
#include <cmath>
#include <utility>

#include "fuse/anchored.hpp"
#include "kernels.hpp"

namespace tenon::cpu {

namespace {
using dnnl::memory;
constexpr auto kF32 = memory::data_type::f32;
}  // namespace

void Anchored::lay_out(memory::data_type type, memory::format_tag tag, const void* weight) {
  const OneThread one;
  const ImageWindow& w = recipe_.window;
  const auto filter_bytes = static_cast<int64_t>(memory::data_type_size(type)) * w.channels /
                            w.groups * w.kernel[0] * w.kernel[1];
  const auto* const first = static_cast<const char*>(weight);
  for (Weights& to : weights_) {
    if (!to.wanted()) continue;
    if (to.memory.use_count() > 1)  // others may read it now
      to.memory = std::make_shared<memory>(to.memory->get_desc(), dnnl_engine());
    to.fresh = false;
    memory from({w.weight_sizes(to.filters), type, tag}, dnnl_engine(),
                const_cast<char*>(first + to.filter * filter_bytes));
    dnnl::reorder(from, *to.memory).execute(dnnl_stream(), from, *to.memory);
  }
  dnnl_stream().wait();
}

bool Anchored::has_constants_of(const AnchoredRecipe& other) const {
  const auto same_norm = [](const AnchoredRecipe::Norm& a, const AnchoredRecipe::Norm& b) {
    return a.is == b.is && (a.weight == 0) == (b.weight == 0) && (a.bias == 0) == (b.bias == 0) &&
           a.eps == b.eps;
  };
  return !recipe_.pools && !other.pools && recipe_.integers == other.integers &&
         recipe_.window.weight_sizes(recipe_.window.filters) ==
             other.window.weight_sizes(other.window.filters) &&
         (recipe_.bias == 0) == (other.bias == 0) && same_norm(recipe_.norm, other.norm);
}

// In all its layouts, so that kernels for sizes that want one and the other share both.
void Anchored::share_constants(const Anchored& other) {
  weights_ = other.weights_;
  for (Weights& one : weights_) one.read = false;
  bias_ = other.bias_;
  shares_ = true;
}

void Anchored::pack(const tn_view* const* views) {
  if (recipe_.pools) return;
  if (!std::exchange(shares_, false)) {
    for (Weights& one : weights_) one.fresh = true;
    bias_ = memory();
  }
  if (std::ranges::none_of(weights_, &Weights::wanted)) return;
  const ImageWindow& w = recipe_.window;
  if (recipe_.integers)
    return lay_out(memory::data_type::s8, memory::format_tag::ohwi,
                   data_of<const int8_t>(*views[recipe_.weight]));
  const auto values = [&](uint32_t operand) {
    return operand == 0 ? nullptr : data_of<const float>(*views[operand]);
  };
  const int64_t filter = w.channels / w.groups * w.kernel[0] * w.kernel[1];
  const float* weight = values(recipe_.weight);
  const float* const bias = values(recipe_.bias);
  std::vector<float> scaled, shift(static_cast<size_t>(w.filters), 0.0F);
  if (bias != nullptr) std::copy_n(bias, w.filters, shift.begin());
  if (recipe_.norm.is) {
    const auto& norm = recipe_.norm;
    const float *scale = values(norm.weight), *offset = values(norm.bias),
                *mean = values(norm.mean), *var = values(norm.var);
    scaled.assign(weight, weight + w.filters * filter);
    for (int64_t f = 0; f < w.filters; ++f) {
      const double by = (scale == nullptr ? 1.0 : scale[f]) / std::sqrt(var[f] + norm.eps);
      const auto at = static_cast<size_t>(f);
      shift[at] = static_cast<float>((double{shift[at]} - mean[f]) * by +
                                     (offset == nullptr ? 0.0 : offset[f]));
      for (int64_t i = f * filter; i < (f + 1) * filter; ++i)
        scaled[static_cast<size_t>(i)] = static_cast<float>(weight[i] * by);
    }
    weight = scaled.data();
  }
  lay_out(kF32, w.groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw, weight);
  if (bias == nullptr && !recipe_.norm.is) return;
  if (bias_) return;
  bias_ = memory(memory::desc({w.filters}, kF32, memory::format_tag::x), dnnl_engine());
  std::copy(shift.begin(), shift.end(), static_cast<float*>(bias_.get_data_handle()));
}

}  // namespace tenon::cpu
