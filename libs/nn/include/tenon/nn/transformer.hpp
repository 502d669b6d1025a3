// Transformer, its encoder and decoder, and their layers (Vaswani et al. 2017).
#ifndef TENON_NN_TRANSFORMER_HPP
#define TENON_NN_TRANSFORMER_HPP

#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "tenon/nn/attention.hpp"
#include "tenon/nn/container.hpp"
#include "tenon/nn/dropout.hpp"
#include "tenon/nn/norm.hpp"

namespace tenon::nn {

// "relu", "gelu", or a function of a tensor.
class Activation {
 public:
  Activation(const char* name) : Activation(std::string(name)) {}
  Activation(const std::string& name) : fn_([](const Tensor& x) { return relu(x); }) {
    if (detail::check_one_of("Transformer", "activation", name, {"relu", "gelu"}) == "gelu")
      fn_ = [](const Tensor& x) { return gelu(x); };
  }
  template <std::invocable<const Tensor&> Fn>
  Activation(Fn fn) : fn_(std::move(fn)) {}
  Tensor operator()(const Tensor& x) const { return fn_(x); }

 private:
  std::function<Tensor(const Tensor&)> fn_;
};

struct TransformerEncoderLayerOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  Activation activation = "relu";
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;  // normalise before each part instead of after it
  bool bias = true;
};
using TransformerDecoderLayerOptions = TransformerEncoderLayerOptions;

// Masks are those of MultiheadAttention. is_causal says that the mask is causal, which saves work.
struct TransformerEncoderLayerForwardOptions {
  Tensor src_mask = {};
  Tensor src_key_padding_mask = {};
  bool is_causal = false;
};
struct TransformerEncoderForwardOptions {
  Tensor mask = {};
  Tensor src_key_padding_mask = {};
  bool is_causal = false;
};
struct TransformerDecoderForwardOptions {
  Tensor tgt_mask = {};
  Tensor memory_mask = {};
  Tensor tgt_key_padding_mask = {};
  Tensor memory_key_padding_mask = {};
  bool tgt_is_causal = false;
  bool memory_is_causal = false;
};
struct TransformerForwardOptions {
  Tensor src_mask = {};
  Tensor tgt_mask = {};
  Tensor memory_mask = {};
  Tensor src_key_padding_mask = {};
  Tensor tgt_key_padding_mask = {};
  Tensor memory_key_padding_mask = {};
  bool src_is_causal = false;
  bool tgt_is_causal = false;
  bool memory_is_causal = false;
};

namespace detail {
inline void check_transformer(const char* name, int64_t d_model, int64_t nhead,
                              int64_t dim_feedforward, double dropout) {
  check_least(name, "d_model", d_model, 1);
  check_least(name, "nhead", nhead, 1);
  check_least(name, "dim_feedforward", dim_feedforward);
  check_part(name, "dropout", dropout);
}

// What encoder and decoder layers share.
template <class Signature>
class TransformerLayer : public ModuleOf<Signature> {
 public:
  MultiheadAttention self_attn;
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  LayerNorm norm1, norm2;

  std::string describe() const override { return name_; }

 protected:
  TransformerLayer(const char* name, int64_t d_model, int64_t nhead,
                   const TransformerEncoderLayerOptions& options)
      : self_attn(attention(name, d_model, nhead, options)),
        linear1(d_model, options.dim_feedforward, options.bias),
        dropout(options.dropout),
        linear2(options.dim_feedforward, d_model, options.bias),
        norm1(norm(d_model, options)),
        norm2(norm(d_model, options)),
        name_(name),
        activation_(options.activation),
        norm_first_(options.norm_first) {}
  static LayerNorm norm(int64_t d_model, const TransformerEncoderLayerOptions& options) {
    return LayerNorm({d_model}, {options.layer_norm_eps, true, options.bias});
  }
  static MultiheadAttention attention(const char* name, int64_t d_model, int64_t nhead,
                                      const TransformerEncoderLayerOptions& options) {
    check_transformer(name, d_model, nhead, options.dim_feedforward, options.dropout);
    return MultiheadAttention(
        d_model, nhead,
        {.dropout = options.dropout, .bias = options.bias, .batch_first = options.batch_first});
  }
  // In PyTorch's order, by which optimizers number parameters. Only a decoder has the last two.
  void add_parts(MultiheadAttention* multihead_attn = nullptr, LayerNorm* norm3 = nullptr) {
    this->add_part("self_attn", self_attn);
    if (multihead_attn != nullptr) this->add_part("multihead_attn", *multihead_attn);
    this->add_part("linear1", linear1);
    this->add_part("dropout", dropout);
    this->add_part("linear2", linear2);
    this->add_part("norm1", norm1);
    this->add_part("norm2", norm2);
    if (norm3 != nullptr) this->add_part("norm3", *norm3);
  }

  // A part and the norm before or behind it.
  using Part = std::function<Tensor(const Tensor&)>;
  using Parts = std::vector<std::pair<LayerNorm*, Part>>;

  // Adds the result of each part to x and normalises; each sum and the norm that follows are one op.
  Tensor with(Tensor x, const Parts& parts) {
    if (!norm_first_) {
      for (const auto& [norm, part] : parts) x = norm->of_sum(x, dropout(part(x))).first;
      return x;
    }
    Tensor normed = (*parts[0].first)(x);
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      std::tie(normed, x) = parts[i + 1].first->of_sum(x, dropout(parts[i].second(normed)));
    return x + dropout(parts.back().second(normed));
  }
  static Tensor attend(MultiheadAttention& attention, const Tensor& x, const Tensor& memory,
                       const Tensor& mask, const Tensor& padding, bool is_causal) {
    return std::get<0>(attention(x, memory, memory, {padding, false, mask, true, is_causal}));
  }
  Tensor feed_forward(const Tensor& x) { return linear2(dropout(activation_(linear1(x)))); }

  const char* name_;
  Activation activation_;
  bool norm_first_;
};
}  // namespace detail

// Self-attention and a feed-forward part. src is (S, B, d_model), (B, S, d_model) with batch_first, or (S, d_model).
class TransformerEncoderLayer : public detail::TransformerLayer<Tensor(
                                    const Tensor&, const TransformerEncoderLayerForwardOptions&)> {
 public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead,
                          const TransformerEncoderLayerOptions& options = {})
      : TransformerLayer("TransformerEncoderLayer", d_model, nhead, options) {
    add_parts();
  }
  Tensor forward(const Tensor& src,
                 const TransformerEncoderLayerForwardOptions& options = {}) override {
    const Part to_itself = [&](const Tensor& y) {
      return attend(self_attn, y, y, options.src_mask, options.src_key_padding_mask,
                    options.is_causal);
    };
    return with(src,
                {{&norm1, to_itself}, {&norm2, [&](const Tensor& y) { return feed_forward(y); }}});
  }
};

// An encoder layer that also attends to memory, the encoder's result.
class TransformerDecoderLayer
    : public detail::TransformerLayer<Tensor(const Tensor&, const Tensor&,
                                             const TransformerDecoderForwardOptions&)> {
 public:
  TransformerDecoderLayer(int64_t d_model, int64_t nhead,
                          const TransformerDecoderLayerOptions& options = {})
      : TransformerLayer("TransformerDecoderLayer", d_model, nhead, options),
        multihead_attn(attention("TransformerDecoderLayer", d_model, nhead, options)),
        norm3(norm(d_model, options)) {
    add_parts(&multihead_attn, &norm3);
  }
  Tensor forward(const Tensor& tgt, const Tensor& memory,
                 const TransformerDecoderForwardOptions& options = {}) override {
    const Part to_itself = [&](const Tensor& y) {
      return attend(self_attn, y, y, options.tgt_mask, options.tgt_key_padding_mask,
                    options.tgt_is_causal);
    };
    const Part to_memory = [&](const Tensor& y) {
      return attend(multihead_attn, y, memory, options.memory_mask, options.memory_key_padding_mask,
                    options.memory_is_causal);
    };
    return with(tgt, {{&norm1, to_itself}, {&norm2, to_memory}, {&norm3, [&](const Tensor& y) {
                                                                   return feed_forward(y);
                                                                 }}});
  }

  MultiheadAttention multihead_attn;
  LayerNorm norm3;
};

namespace detail {
// A stack of copies of a layer, with an optional norm at the end.
template <class Layer, class Signature>
class TransformerStack : public ModuleOf<Signature> {
 public:
  ModuleList<Layer> layers;

 protected:
  TransformerStack(const char* name, const Layer& layer, int64_t num_layers) {
    check_least(name, "num_layers", num_layers);
    for (int64_t i = 0; i < num_layers; ++i) layers.push(clone(layer));
    this->add_part("layers", layers);
  }
  template <class Norm>
  void add_norm(Norm norm) {
    norm_.emplace(std::move(norm));
    this->add_part("norm", **norm_);
  }
  Tensor normed(const Tensor& x) const { return norm_ ? (**norm_)(x) : x; }

 private:
  std::optional<Held> norm_;
};
}  // namespace detail

class TransformerEncoder
    : public detail::TransformerStack<
          TransformerEncoderLayer, Tensor(const Tensor&, const TransformerEncoderForwardOptions&)> {
 public:
  TransformerEncoder(const TransformerEncoderLayer& encoder_layer, int64_t num_layers)
      : TransformerStack("TransformerEncoder", encoder_layer, num_layers) {}
  template <std::derived_from<AnyModule> Norm>
  TransformerEncoder(const TransformerEncoderLayer& encoder_layer, int64_t num_layers, Norm norm)
      : TransformerEncoder(encoder_layer, num_layers) {
    add_norm(std::move(norm));
  }
  Tensor forward(const Tensor& src, const TransformerEncoderForwardOptions& options = {}) override {
    Tensor x = src;
    for (size_t i = 0; i < layers.size(); ++i)
      x = layers[i](x, {options.mask, options.src_key_padding_mask, options.is_causal});
    return normed(x);
  }
  std::string describe() const override { return "TransformerEncoder"; }
};

class TransformerDecoder
    : public detail::TransformerStack<TransformerDecoderLayer,
                                      Tensor(const Tensor&, const Tensor&,
                                             const TransformerDecoderForwardOptions&)> {
 public:
  TransformerDecoder(const TransformerDecoderLayer& decoder_layer, int64_t num_layers)
      : TransformerStack("TransformerDecoder", decoder_layer, num_layers) {}
  template <std::derived_from<AnyModule> Norm>
  TransformerDecoder(const TransformerDecoderLayer& decoder_layer, int64_t num_layers, Norm norm)
      : TransformerDecoder(decoder_layer, num_layers) {
    add_norm(std::move(norm));
  }
  Tensor forward(const Tensor& tgt, const Tensor& memory,
                 const TransformerDecoderForwardOptions& options = {}) override {
    Tensor x = tgt;
    for (size_t i = 0; i < layers.size(); ++i) x = layers[i](x, memory, options);
    return normed(x);
  }
  std::string describe() const override { return "TransformerDecoder"; }
};

struct TransformerOptions {
  int64_t d_model = 512;
  int64_t nhead = 8;
  int64_t num_encoder_layers = 6;
  int64_t num_decoder_layers = 6;
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  Activation activation = "relu";
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
};

// An encoder for src, and a decoder for tgt that attends to the encoder's result.
class Transformer
    : public ModuleOf<Tensor(const Tensor&, const Tensor&, const TransformerForwardOptions&)> {
 public:
  explicit Transformer(const TransformerOptions& options = {})
      : encoder(add("encoder", encoder_of(options))),
        decoder(add("decoder",
                    TransformerDecoder(
                        TransformerDecoderLayer(options.d_model, options.nhead, of_layers(options)),
                        options.num_decoder_layers, norm(options)))),
        width_(options.d_model),
        batch_dim_(options.batch_first ? 0 : 1) {
    for (Tensor& parameter : parameters())
      if (parameter.ndim() > 1) init::xavier_uniform_(parameter);
  }
  Tensor forward(const Tensor& src, const Tensor& tgt,
                 const TransformerForwardOptions& options = {}) override {
    if (src.ndim() == 3 && tgt.ndim() == 3 && src.shape(batch_dim_) != tgt.shape(batch_dim_))
      detail::refuse("Transformer", "batches of " + std::to_string(src.shape(batch_dim_)) +
                                        " and " + std::to_string(tgt.shape(batch_dim_)) +
                                        ", must be equal");
    if (src.shape(-1) != width_ || tgt.shape(-1) != width_)
      detail::refuse("Transformer", "the last dimensions are " + std::to_string(src.shape(-1)) +
                                        " and " + std::to_string(tgt.shape(-1)) +
                                        ", must be d_model " + std::to_string(width_));
    const Tensor memory =
        encoder(src, {options.src_mask, options.src_key_padding_mask, options.src_is_causal});
    return decoder(
        tgt, memory,
        {options.tgt_mask, options.memory_mask, options.tgt_key_padding_mask,
         options.memory_key_padding_mask, options.tgt_is_causal, options.memory_is_causal});
  }
  std::string describe() const override { return "Transformer"; }
  // 0 where attention is allowed, -inf for later positions: (sz, sz).
  static Tensor generate_square_subsequent_mask(int64_t sz, DType dtype = DType::F32,
                                                Device device = {}) {
    return triu(full({sz, sz}, -std::numeric_limits<double>::infinity(), dtype, device), 1);
  }

  TransformerEncoder encoder;
  TransformerDecoder decoder;

 private:
  static TransformerEncoder encoder_of(const TransformerOptions& options) {
    detail::check_transformer("Transformer", options.d_model, options.nhead,
                              options.dim_feedforward, options.dropout);
    detail::check_least("Transformer", "num_encoder_layers", options.num_encoder_layers);
    detail::check_least("Transformer", "num_decoder_layers", options.num_decoder_layers);
    return TransformerEncoder(
        TransformerEncoderLayer(options.d_model, options.nhead, of_layers(options)),
        options.num_encoder_layers, norm(options));
  }
  static TransformerEncoderLayerOptions of_layers(const TransformerOptions& options) {
    return {options.dim_feedforward, options.dropout,    options.activation, options.layer_norm_eps,
            options.batch_first,     options.norm_first, options.bias};
  }
  static LayerNorm norm(const TransformerOptions& options) {
    return LayerNorm({options.d_model}, {options.layer_norm_eps, true, options.bias});
  }
  int64_t width_, batch_dim_;
};

}  // namespace tenon::nn
#endif
