// An LSTM learns the King James Bible character by character, then writes verses of its own
// (Graves 2013, arXiv:1308.0850); the network of examples/python/char_lstm.py, with the same names.
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
    R"(An LSTM learns the King James Bible character by character. To reach: 1.50 nats a character
on chapters that it has not seen. Data: Debian's bible-kjv.

  char_lstm                                       ten minutes on two cores
  char_lstm --short                               some seconds
  char_lstm --prompt "And God said" --temperature 0.5
)";

struct Options : CommonOptions {
  std::string prompt = "In the beginning", output = "char_lstm.safetensors";
  int64_t steps = 4000, batch = 32, length = 128, width = 256, layers = 2, letters = 600;
  double lr = 4e-3, temperature = 0.7, reach = 1.5;

  void declare(Arguments& arguments) {
    if (is_short) {
      steps = 60, width = 96, layers = 1, length = 64, lr = 1e-2, letters = 60;
      reach = 2.5;
    }
    arguments.add("steps", steps, "batches to learn from");
    arguments.add("batch-size", batch, "parallel streams of the text");
    arguments.add("length", length, "characters that gradients flow back through");
    arguments.add("width", width, "numbers in a layer's state");
    arguments.add("layers", layers, "of the LSTM");
    arguments.add("lr", lr, "highest learning rate");
    arguments.add("prompt", prompt, "what its text begins with");
    arguments.add("temperature", temperature, "below 1: the likelier, the more so");
    arguments.add("output,o", output, "where the weights are saved");
  }
};

struct CharLSTM : nn::Module {
  CharLSTM(int64_t symbols, int64_t width, int64_t layers)
      : embed(add("embed", nn::Embedding(symbols, width))),
        lstm(add("lstm", nn::LSTM(width, width, {.num_layers = layers, .batch_first = true}))),
        out(add("out", nn::Linear(width, symbols))) {}
  // Logits (B, T, symbols) of the next characters; `state` becomes the state after the last one.
  Tensor next(const Tensor& x, nn::LSTMState& state) {
    auto [y, after] = lstm(embed(x), state);
    state = after;
    return out(y);
  }
  nn::Embedding embed;
  nn::LSTM lstm;
  nn::Linear out;
};

// The text as parallel streams, (rows, N).
Tensor streams(const Tensor& text, int64_t rows) {
  const int64_t length = text.shape(0) / rows;
  return text[Slice(0, rows * length)].reshape({rows, length});
}

Tensor loss_of(CharLSTM& net, const Tensor& rows, int64_t at, int64_t length,
               nn::LSTMState& state) {
  const Tensor logits = net.next(rows[{Slice(), Slice(at, at + length)}], state);
  return cross_entropy(logits.flatten(0, 1),
                       rows[{Slice(), Slice(at + 1, at + length + 1)}].reshape({-1}));
}

// Mean loss over a text, in nats per character.
double nats(CharLSTM& net, const Tensor& text) {
  NoGrad guard;
  const Tensor rows = streams(text, 32);
  nn::LSTMState state;
  double total = 0;
  const int64_t count = rows.shape(1) - 1;
  for (int64_t at = 0; at < count; at += 256) {
    const int64_t length = std::min<int64_t>(256, count - at);
    total += loss_of(net, rows, at, length, state).item<double>() * static_cast<double>(length);
  }
  return total / static_cast<double>(count);
}

// One character at a time, each drawn by its probability.
void write(CharLSTM& net, const bible::Text& text, Tensor x, const Options& o) {
  NoGrad guard;
  nn::LSTMState state;
  std::cout << o.prompt;
  for (int64_t i = 0; i < o.letters; ++i) {
    const int64_t symbol = draw(net.next(x, state)[{0, -1}], o.temperature);
    std::cout << text.symbols[static_cast<size_t>(symbol)] << std::flush;
    x = full({1, 1}, symbol, DType::I64).to(o.device);
  }
  std::cout << '\n';
}

void train(CharLSTM& net, const Tensor& rows, const Options& o) {
  optim::AdamW optimizer(net.parameters(), {.lr = o.lr, .weight_decay = 0.01});
  optim::OneCycleLR schedule(optimizer, o.lr, std::max<int64_t>(o.steps, 2));
  Progress progress("training", o.steps, "characters");
  nn::LSTMState state;
  for (int64_t step = 1, at = 0; step <= o.steps; ++step, at += o.length) {
    if (at + o.length >= rows.shape(1)) {
      state = {};
      at = 0;
    }
    const Tensor loss = loss_of(net, rows, at, o.length, state);
    state = {std::get<0>(state).detach(), std::get<1>(state).detach()};
    optimizer.zero_grad();
    loss.backward();
    optim::clip_grad_norm_(net.parameters(), 1.0);
    optimizer.step();
    schedule.step();
    progress.update(step, step * o.batch * o.length, loss.item<double>());
  }
}

int run(const Options& o) {
  const bible::Text text = bible::load();
  const Tensor prompt = bible::indices_of(o.prompt, text).to(o.device);
  CharLSTM net(static_cast<int64_t>(text.symbols.size()), o.width, o.layers);
  net.to(o.device);
  std::cout << bible::sizes_of(text) << ", " << net.parameter_count() << " parameters, " << o.device
            << std::endl;
  train(net, streams(text.train, o.batch).to(o.device), o);
  io::save_safetensors(o.output, net.state_dict(), {{"network", "char_lstm"}});
  write(net, text, prompt, o);
  const Tensor test = o.is_short ? text.test[Slice(0, 6000)] : text.test;
  const bool good =
      figure("held-out loss", nats(net, test.to(o.device)), o.reach, true, " nats a character");
  return o.is_short && !good ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) { return run_example(argc, argv, kAbout, &run); }
