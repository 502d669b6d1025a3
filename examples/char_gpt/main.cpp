// A small GPT learns the King James Bible character by character, then writes verses of its own
// (Radford et al. 2019); the network of examples/python/char_gpt.py, with the same names.
#include "arguments.hpp"
#include "bible.hpp"
#include "progress.hpp"
#include "sampling.hpp"
#include "tenon/io.hpp"
#include "tenon/nn.hpp"
#include "tenon/optim.hpp"

using namespace tenon;

namespace {

constexpr const char* kAbout =
    R"(A small GPT learns the King James Bible character by character. To reach: 1.45 nats a character
on chapters that it has not seen. Data: Debian's bible-kjv.

  char_gpt                                       ten minutes on two cores
  char_gpt --short                               some seconds
  char_gpt --prompt "And God said" --temperature 0.5
)";

struct Options : CommonOptions {
  std::string prompt = "In the beginning", output = "char_gpt.safetensors";
  int64_t steps = 4000, batch = 32, context = 128, width = 128, layers = 4, heads = 4,
          letters = 600;
  double dropout = 0, lr = 3e-3, temperature = 0.7, reach = 1.45;

  void declare(Arguments& arguments) {
    if (is_short) {
      steps = 100, context = 64, width = 64, layers = 2, lr = 4e-3, letters = 30;
      reach = 2.8;
    }
    arguments.add("steps", steps, "batches to learn from");
    arguments.add("batch-size", batch, "windows of the text in a batch");
    arguments.add("context", context, "characters that a prediction may look at");
    arguments.add("width", width, "numbers that stand for a character");
    arguments.add("layers", layers, "blocks");
    arguments.add("heads", heads, "of attention in a block");
    arguments.add("dropout", dropout, "part of the numbers that is zeroed while learning");
    arguments.add("lr", lr, "highest learning rate");
    arguments.add("prompt", prompt, "what its text begins with");
    arguments.add("temperature", temperature, "below 1: the likelier, the more so");
    arguments.add("output,o", output, "where the weights are saved");
  }
};

// Causal self-attention with several heads, then a network for each position (Vaswani et al. 2017, norms first).
struct Block : nn::Module {
  explicit Block(const Options& o)
      : heads(o.heads),
        norm1(add("norm1", nn::LayerNorm(o.width))),
        norm2(add("norm2", nn::LayerNorm(o.width))),
        qkv(add("qkv", nn::Linear(o.width, 3 * o.width))),
        out(add("out", nn::Linear(o.width, o.width))),
        up(add("up", nn::Linear(o.width, 4 * o.width))),
        down(add("down", nn::Linear(4 * o.width, o.width))),
        dropout(add("dropout", nn::Dropout(o.dropout))) {}

  Tensor forward(const Tensor& x) override {
    const int64_t b = x.shape(0), n = x.shape(1), width = x.shape(2);
    const auto parts = qkv(norm1(x))
                           .reshape({b, n, 3, heads, width / heads})
                           .permute({2, 0, 3, 1, 4})  // (3, B, heads, N, size)
                           .unbind(0);
    const Tensor y = attention(parts[0], parts[1], parts[2], {}, true).y;
    const Tensor z = x + dropout(out(y.transpose(1, 2).reshape({b, n, width})));
    return z + dropout(down(gelu(up(norm2(z)), "tanh")));
  }

  int64_t heads;
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, out, up, down;
  nn::Dropout dropout;
};

struct CharGPT : nn::Module {
  CharGPT(int64_t symbols, const Options& o)
      : tokens(add("tokens", nn::Embedding(symbols, o.width))),
        places(add("places", nn::Embedding(o.context, o.width))),
        blocks(add("blocks", nn::ModuleList<Block>())),
        norm(add("norm", nn::LayerNorm(o.width))) {
    for (int64_t i = 0; i < o.layers; ++i) blocks.push(Block(o));
    // GPT-2's initial values; layers whose outputs add up over the network start smaller.
    for (auto& [name, parameter] : named_parameters()) {
      if (parameter.ndim() < 2) continue;
      const bool last = name.ends_with("out.weight") || name.ends_with("down.weight");
      nn::init::normal_(parameter, 0,
                        last ? 0.02 / std::sqrt(2.0 * static_cast<double>(o.layers)) : 0.02);
    }
  }
  // Logits (B, T, symbols) of the characters that follow x (B, T); T is at most the context.
  Tensor forward(const Tensor& index) override {
    Tensor x = tokens(index) + places.weight->narrow(0, 0, index.shape(1));
    for (size_t i = 0; i < blocks.size(); ++i) x = blocks[i](x);
    return linear(norm(x), tokens.weight);  // the embedding again, as output weights
  }
  nn::Embedding tokens, places;
  nn::ModuleList<Block> blocks;
  nn::LayerNorm norm;
};

// Mean loss over windows of context + 1 characters, (B, T + 1).
Tensor loss_of(CharGPT& net, const Tensor& windows) {
  const int64_t n = windows.shape(1) - 1;
  return cross_entropy(net(windows.narrow(1, 0, n)).flatten(0, 1),
                       windows.narrow(1, 1, n).reshape({-1}));
}

// Mean loss over a text cut into windows. This is harsh, because each window begins without context.
double nats(CharGPT& net, const Tensor& text, int64_t context) {
  NoGrad guard;
  net.eval();
  const Tensor starts = arange(0, text.shape(0) - context, context, DType::I64, text.device()),
               within = arange(0, context + 1, 1, DType::I64, text.device());
  const Tensor places = starts.unsqueeze(1) + within;
  double total = 0;
  for (const Tensor& part : places.split(32))
    total += loss_of(net, text[part]).item<double>() * static_cast<double>(part.shape(0));
  net.train();
  return total / static_cast<double>(places.shape(0));
}

// One character at a time, given as many earlier ones as fit into the context.
void write(CharGPT& net, const bible::Text& text, Tensor x, const Options& o) {
  NoGrad guard;
  net.eval();
  std::cout << o.prompt;
  for (int64_t i = 0; i < o.letters; ++i) {
    const int64_t seen = std::min(x.shape(1), o.context);
    const int64_t symbol = draw(net(x.narrow(1, x.shape(1) - seen, seen))[{0, -1}], o.temperature);
    std::cout << text.symbols[static_cast<size_t>(symbol)] << std::flush;
    x = concat({x, full({1, 1}, symbol, DType::I64).to(o.device)}, 1);
  }
  std::cout << '\n';
  net.train();
}

void train(CharGPT& net, const Tensor& text, const Options& o) {
  optim::AdamW optimizer(net.parameters(), {.lr = o.lr, .betas = {0.9, 0.95}, .weight_decay = 0.1});
  optim::OneCycleLR schedule(optimizer, o.lr, std::max<int64_t>(o.steps, 2), {.pct_start = 0.1});
  const Tensor within = arange(0, o.context + 1, 1, DType::I64, o.device);
  Progress progress("training", o.steps, "characters");
  for (int64_t step = 1; step <= o.steps; ++step) {
    const Tensor starts = randint({o.batch, 1}, 0, text.shape(0) - o.context, DType::I64, o.device);
    const Tensor loss = loss_of(net, text[starts + within]);
    optimizer.zero_grad();
    loss.backward();
    optim::clip_grad_norm_(net.parameters(), 1.0);
    optimizer.step();
    schedule.step();
    progress.update(step, step * o.batch * o.context, loss.item<double>());
  }
}

int run(const Options& o) {
  const bible::Text text = bible::load();
  const Tensor prompt = bible::indices_of(o.prompt, text).to(o.device);
  CharGPT net(static_cast<int64_t>(text.symbols.size()), o);
  net.to(o.device);
  std::cout << bible::sizes_of(text) << ", " << net.parameter_count() << " parameters, " << o.device
            << std::endl;
  train(net, text.train.to(o.device), o);
  io::save_safetensors(o.output, net.state_dict(), {{"network", "char_gpt"}});
  write(net, text, prompt, o);
  const Tensor test = (o.is_short ? text.test[Slice(0, 6000)] : text.test).to(o.device);
  const bool good =
      figure("held-out loss", nats(net, test, o.context), o.reach, true, " nats a character");
  return o.is_short && !good ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) { return run_example(argc, argv, kAbout, &run); }
