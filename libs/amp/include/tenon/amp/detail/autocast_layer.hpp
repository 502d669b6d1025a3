// The call layer that casts operands (tn_call_layer).
#ifndef TENON_AMP_DETAIL_AUTOCAST_LAYER_HPP
#define TENON_AMP_DETAIL_AUTOCAST_LAYER_HPP

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenon/amp/table.hpp"
#include "tenon/recorded_device.hpp"
#include "tenon/tenon.hpp"

namespace tenon::amp {

// How ops on devices of one kind compute.
struct Setting {
  DType dtype = DType::BF16;
  bool enabled = false;
  bool cache = true;
};

namespace detail {

using tenon::detail::check;
using tenon::detail::to_str;
using tenon::detail::to_view;

inline std::optional<Precision> precision_of(const tn_op* op) {
  static const auto all = [] {
    std::unordered_map<const tn_op*, Precision> found;
    for (const auto& [name, precision] : kPrecisions) {
      const tn_op* known = nullptr;
      check(tn_op_require(to_str(name), &known));
      found.emplace(known, precision);
    }
    return found;
  }();
  const auto found = all.find(op);
  return found == all.end() ? std::nullopt : std::optional(found->second);
}

constexpr bool is_half(DType dtype) { return dtype == DType::BF16 || dtype == DType::F16; }
inline DType dtype_of(const tn_tensor* x) { return static_cast<DType>(tn_tensor_dtype(x)); }

// The tensors among a call's arguments, including those in lists.
template <class Visit>
void each_tensor(const tn_value& arg, Visit&& visit) {
  if (arg.tag == TN_VALUE_TENSOR) visit(arg.as.tensor);
  if (arg.tag == TN_VALUE_TENSORS)
    for (uint32_t i = 0; i < arg.count; ++i)
      if (arg.as.tensors[i] != nullptr) visit(arg.as.tensors[i]);
}

// Parameters in the lower precision, each cast once until the outermost scope ends.
class Casts {
 public:
  Tensor of(tn_tensor* x, DType dtype, bool keep) {
    if (!keep || dtype_of(x) != DType::F32 || tn_tensor_requires_grad(x) == 0 ||
        tn_tensor_is_leaf(x) == 0)
      return cast(Tensor::share(x), dtype);
    Entry& entry = kept_[x];
    const uint32_t version = tn_tensor_version(x);
    const bool recorded = is_grad_enabled();
    const bool good = entry.result.defined() && entry.version == version &&
                      entry.recorded == recorded && entry.result.dtype() == dtype;
    if (!good) entry = {Tensor::share(x), cast(Tensor::share(x), dtype), version, recorded};
    return entry.result;
  }
  void clear() { kept_.clear(); }

 private:
  struct Entry {
    Tensor source, result;  // the source is held, so that its address is not reused
    uint32_t version = 0;
    bool recorded = false;
  };
  std::unordered_map<const tn_tensor*, Entry> kept_;
};

// A call's arguments, some of them cast.
class CastArguments {
 public:
  CastArguments(const tn_value* args, uint32_t nargs) : args_(args, args + nargs) {}

  // Casts every tensor for which `wanted` gives another dtype.
  template <class Wanted>
  bool cast(Casts& casts, bool keep, Wanted&& wanted) {
    bool changed = false;
    for (tn_value& arg : args_) {
      bool here = false;
      each_tensor(arg,
                  [&](const tn_tensor* x) { here = here || wanted(dtype_of(x)) != dtype_of(x); });
      if (!here) continue;
      changed = true;
      std::vector<tn_tensor*> list;
      const auto replaced = [&](tn_tensor* x) {
        if (x == nullptr || wanted(dtype_of(x)) == dtype_of(x)) return x;
        held_.push_back(casts.of(x, wanted(dtype_of(x)), keep));
        return held_.back().get();
      };
      if (arg.tag == TN_VALUE_TENSOR) {
        arg.as.tensor = replaced(arg.as.tensor);
      } else {
        for (uint32_t i = 0; i < arg.count; ++i) list.push_back(replaced(arg.as.tensors[i]));
        lists_.push_back(std::move(list));
        arg.as.tensors = lists_.back().data();
      }
    }
    return changed;
  }
  const tn_value* data() const { return args_.data(); }

 private:
  std::vector<tn_value> args_;
  std::vector<std::vector<tn_tensor*>> lists_;
  std::vector<Tensor> held_;
};

// The settings of one thread, and its layer, which exists while any of them is enabled.
class AutocastLayer {
 public:
  static AutocastLayer& of_this_thread() {
    static thread_local AutocastLayer layer;
    return layer;
  }
  AutocastLayer(const AutocastLayer&) = delete;

  Setting setting(std::string_view kind) const {
    for (const auto& [known, setting] : settings_)
      if (known == kind) return setting;
    return {};
  }
  void set(std::string_view kind, const Setting& setting) {
    if (setting.enabled && !is_half(setting.dtype))
      throw Error(
          TN_INVALID_ARGUMENT,
          "[autocast] dtype is " + std::string(name_of(setting.dtype)) + ", must be bf16 or f16");
    auto settings = settings_;
    const auto there = std::find_if(settings.begin(), settings.end(),
                                    [&](const auto& each) { return each.first == kind; });
    if (there == settings.end())
      settings.emplace_back(kind, setting);
    else
      there->second = setting;
    const bool wanted = std::any_of(settings.begin(), settings.end(),
                                    [](const auto& each) { return each.second.enabled; });
    if (wanted != there_) check(wanted ? tn_call_layer_push(&table_) : tn_call_layer_pop(&table_));
    there_ = wanted;
    settings_ = std::move(settings);
  }
  void clear_cache() { casts_.clear(); }
  // Whether the layer sees calls.
  bool active() const { return there_ && !paused_; }

  // Pauses or resumes the layer for a scope. Backward passes run without it, because they use the precision of the forward pass.
  class Paused {
   public:
    explicit Paused(bool on = true) : before_(std::exchange(of_this_thread().paused_, on)) {}
    ~Paused() { of_this_thread().paused_ = before_; }
    Paused(const Paused&) = delete;

   private:
    bool before_;
  };

  uint32_t depth = 0;  // nested scopes

 private:
  AutocastLayer() {
    table_.struct_size = sizeof table_;
    table_.ctx = this;
    table_.call = [](void* self, const tn_op* op, const tn_value* args, uint32_t nargs,
                     tn_tensor** outs, uint32_t nouts, uint32_t* done) -> tn_status* {
      try {
        return static_cast<AutocastLayer*>(self)->call(op, args, nargs, outs, nouts, *done);
      } catch (const Error& error) {
        return tn_status_make(error.code(), to_str(error.what()));
      } catch (const std::bad_alloc&) {
        return tn_status_make(TN_OUT_OF_MEMORY, to_str("[autocast] no memory"));
      }
    };
  }

  tn_status* call(const tn_op* op, const tn_value* args, uint32_t nargs, tn_tensor** outs,
                  uint32_t nouts, uint32_t& done) {
    const auto precision = precision_of(op);
    if (!precision || paused_) return nullptr;
    const tn_device* device = nullptr;
    bool f32 = false;
    for (uint32_t i = 0; i < nargs; ++i)
      each_tensor(args[i], [&](const tn_tensor* x) {
        if (device == nullptr) device = tn_tensor_device(x);
        f32 = f32 || dtype_of(x) == DType::F32;
      });
    if (device == nullptr) return nullptr;
    const std::string_view kind = kind_of(device);
    const Setting now = setting(kind);
    if (!now.enabled || (*precision == Precision::f32_on_gpus && kind == "cpu")) return nullptr;
    const bool low = *precision == Precision::low || (*precision == Precision::widest && !f32);
    const auto wanted = [&](DType dtype) {
      if (low) return is_half(dtype) || dtype == DType::F32 ? now.dtype : dtype;
      return is_half(dtype) ? DType::F32 : dtype;
    };
    CastArguments changed(args, nargs);
    if (!changed.cast(casts_, low && now.cache, wanted)) return nullptr;
    done = 1;
    return tn_op_call(op, changed.data(), nargs, outs, nouts);
  }

  static std::string_view kind_of(const tn_device* device) {
    const std::string_view name = to_view(tn_device_id(tenon::detail::recorded_device(device)));
    return name.substr(0, name.find(':'));
  }

  tn_call_layer table_{};
  std::vector<std::pair<std::string, Setting>> settings_;
  Casts casts_;
  bool there_ = false, paused_ = false;
};

// Sets something until the end of the scope.
class Scope {
 public:
  Scope(std::string_view kind, const Setting& setting)
      : kind_(kind), before_(AutocastLayer::of_this_thread().setting(kind)) {
    AutocastLayer::of_this_thread().set(kind_, setting);
    ++AutocastLayer::of_this_thread().depth;
  }
  ~Scope() {
    auto& layer = AutocastLayer::of_this_thread();
    if (--layer.depth == 0) layer.clear_cache();
    try {
      layer.set(kind_, before_);
    } catch (const Error&) {  // someone left another layer on top: it ends with the thread
    }
  }
  Scope(const Scope&) = delete;

 private:
  AutocastLayer::Paused running_{false};
  std::string kind_;
  Setting before_;
};

}  // namespace detail
}  // namespace tenon::amp
#endif
