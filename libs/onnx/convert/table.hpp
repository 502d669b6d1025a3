// The converters: for each ONNX op a function of tensors.
#pragma once

#include <limits>
#include <span>
#include <variant>

#include "convert/call.hpp"

namespace tenon::onnx {

// A converter is a function that returns a tensor, a value, or several.
class Convert {
 public:
  Convert() = default;
  Convert(Tensor (*fn)(const Call&)) : fn_(fn) {}
  Convert(Value (*fn)(const Call&)) : fn_(fn) {}
  Convert(Results (*fn)(const Call&)) : fn_(fn) {}
  bool defined() const { return fn_.index() != 0; }
  Results operator()(const Call& call) const {
    return std::visit(
        [&](auto fn) -> Results {
          if constexpr (std::is_same_v<decltype(fn), std::monostate>)
            throw Error(TN_INTERNAL, "a node without a converter");
          else
            return fn(call);
        },
        fn_);
  }

 private:
  std::variant<std::monostate, Tensor (*)(const Call&), Value (*)(const Call&),
               Results (*)(const Call&)>
      fn_;
};

// An op for the opsets `from` to `to` of its domain.
struct Entry {
  const char* op;
  int64_t from;
  Convert convert;
  const char* domain;
  int64_t to;

  // A function, or a lambda without captures.
  template <class Fn>
  Entry(const char* name, int64_t since, Fn fn, const char* of = "",
        int64_t until = std::numeric_limits<int64_t>::max())
      : op(name), from(since), convert(+fn), domain(of), to(until) {}
};
using Family = std::span<const Entry>;

inline constexpr const char* kMicrosoft = "com.microsoft";  // the domain of ONNX Runtime's tools
inline constexpr const char* kMl = "ai.onnx.ml";
inline constexpr const char* kPreview = "ai.onnx.preview";
inline constexpr const char* kTraining = "ai.onnx.preview.training";

// Each is defined in the file of its name.
Family activation_ops();
Family attention_ops();
Family classical_ops();
Family control_ops();
Family conv_ops();
Family elementwise_ops();
Family generate_ops();
Family indexing_ops();
Family loss_ops();
Family matrix_ops();
Family fused_ops();
Family fused_attention_ops();
Family ml_ops();
Family norm_ops();
Family pool_ops();
Family quantize_ops();
Family quantized_layer_ops();
Family recurrent_ops();
Family reduce_ops();
Family resize_ops();
Family sequence_ops();
Family shape_ops();
Family signal_ops();
Family support_vector_ops();
Family training_ops();
Family tree_ops();
Family vision_ops();

// NULL if no converter covers that opset.
const Entry* find_entry(std::string_view domain, std::string_view op, int64_t opset);
// All converters, ordered by name.
std::vector<const Entry*> entries();

}  // namespace tenon::onnx
