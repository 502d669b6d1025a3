// An LSTM learns the King James Bible character by character, then writes verses of its own
// (Graves 2013, arXiv:1308.0850); the network of examples/python/char_lstm.py, with the same names.
#include <boost/program_options.hpp>
#include <iomanip>
#include <iostream>

#include "bible.hpp"
#include "progress.hpp"
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

struct Options {
  std::string device = "auto", prompt = "In the beginning", output = "char_lstm.safetensors";
  int64_t steps = 4000, batch = 32, length = 128, width = 256, layers = 2, letters = 600;
  uint64_t seed = 1;
  double lr = 4e-3, temperature = 0.7, reach = 1.5;
};

struct CharLSTM : nn::Module {
  CharLSTM(int64_t symbols, int64_t width, int64_t layers)
      : embed(add("embed", nn::Embedding(symbols, width))),
        lstm(add("lstm", nn::LSTM(width, width, {.num_layers = layers, .batch_first = true}))),
        out(add("out", nn::Linear(width, symbols))) {}
  // Logits (B, T, symbols) of what comes after x (B, T); `state` is that after the last.
  Tensor next(const Tensor& x, nn::LSTMState& state) {
    auto [y, after] = lstm(embed(x), state);
    state = after;
    return out(y);
  }
  nn::Embedding embed;
  nn::LSTM lstm;
  nn::Linear out;
};

// The text as that many parallel streams, (rows, N).
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

// Mean loss over a text, in nats a character.
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

// One character after the other: each is drawn where a random number falls into the running sum.
void write(CharLSTM& net, const bible::Text& text, const Options& o, Device device) {
  NoGrad guard;
  std::vector<int64_t> prompt;
  for (char c : o.prompt) {
    if (text.symbols.find(c) == std::string::npos)
      throw Error(TN_INVALID_ARGUMENT, std::string("the text has no '") + c + '\'');
    prompt.push_back(static_cast<int64_t>(text.symbols.find(c)));
  }
  Tensor x = tensor(prompt).unsqueeze(0).to(device);
  nn::LSTMState state;
  std::cout << o.prompt;
  for (int64_t i = 0; i < o.letters; ++i) {
    const Tensor logits = net.next(x, state)[{0, -1}].cpu();
    const Tensor sums = softmax(logits / o.temperature, 0).cumsum(0);
    const int64_t drawn = (sums < rand({1})).sum().item<int64_t>();
    const size_t symbol = std::min(static_cast<size_t>(drawn), text.symbols.size() - 1);
    std::cout << text.symbols[symbol] << std::flush;
    x = full({1, 1}, static_cast<int64_t>(symbol), DType::I64).to(device);
  }
  std::cout << '\n';
}

void train(CharLSTM& net, const Tensor& rows, const Options& o) {
  optim::AdamW optimizer(net.parameters(), {.lr = o.lr, .weight_decay = 0.01});
  optim::OneCycleLR schedule(optimizer, o.lr, std::max<int64_t>(o.steps, 2));
  Progress progress("training", o.steps);
  nn::LSTMState state;
  double recent = 0;
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
    const double value = loss.item<double>();
    recent = step == 1 ? value : 0.95 * recent + 0.05 * value;
    progress.update(step, step * o.batch * o.length, recent);
  }
}

int run(const Options& o, bool is_short) {
  const Device device = o.device == "auto" ? best_device() : Device(o.device);
  manual_seed(o.seed);
  const bible::Text text = bible::load();
  CharLSTM net(static_cast<int64_t>(text.symbols.size()), o.width, o.layers);
  net.to(device);
  std::cout << text.train.shape(0) << " characters to learn from, " << text.test.shape(0)
            << " to test with; " << text.symbols.size() << " symbols, " << net.parameter_count()
            << " parameters, " << device << std::endl;
  train(net, streams(text.train, o.batch).to(device), o);
  io::save_safetensors(o.output, net.state_dict(), {{"network", "char_lstm"}});
  write(net, text, o, device);
  const Tensor test = is_short ? text.test[Slice(0, 6000)] : text.test;
  const double found = nats(net, test.to(device));
  std::cout << std::setprecision(4) << "figure: held-out loss " << found
            << " nats a character (at most " << o.reach
            << " nats a character: " << (found <= o.reach ? "reached)" : "not reached)") << '\n';
  return is_short && found > o.reach ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  namespace po = boost::program_options;
  Options o;
  const bool is_short = std::any_of(argv, argv + argc,
                                    [](const char* a) { return std::string_view(a) == "--short"; });
  if (is_short) {
    o.steps = 60, o.width = 96, o.layers = 1, o.length = 64, o.lr = 1e-2, o.letters = 60;
    o.reach = 2.5;
  }
  po::options_description all("Options");
  auto add = all.add_options();
  const auto option = [&](const char* name, auto& value, const char* about) {
    add(name, po::value(&value)->default_value(value), about);
  };
  add("help,h", "this text");
  add("short", "seconds rather than minutes, with a lower aim: what the tests run");
  option("device", o.device, "auto, or one that `tenon devices` lists");
  option("seed", o.seed, "of weights and samples");
  option("steps", o.steps, "batches to learn from");
  option("batch-size", o.batch, "parallel streams of the text");
  option("length", o.length, "characters that gradients flow back through");
  option("width", o.width, "numbers in a layer's state");
  option("layers", o.layers, "of the LSTM");
  option("lr", o.lr, "highest learning rate");
  option("prompt", o.prompt, "what its text begins with");
  option("temperature", o.temperature, "below 1: the likelier, the more so");
  option("output,o", o.output, "where the weights are saved");
  try {
    po::variables_map given;
    po::store(po::command_line_parser(argc, argv).options(all).positional({}).run(), given);
    if (given.count("help") != 0) return (std::cout << kAbout << '\n' << all), 0;
    po::notify(given);
    return run(o, is_short);
  } catch (const std::exception& error) {
    std::cerr << "char_lstm: " << error.what() << "\nTry char_lstm --help\n";
    return 1;
  }
}
