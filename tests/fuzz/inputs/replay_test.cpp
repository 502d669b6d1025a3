// Replays the corpora: every stored input, and mutations of each by a fixed generator. `./dev fuzz NAME` searches further.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <vector>

#include "target.hpp"

namespace tenon::fuzz {
namespace {

std::map<std::string, Target>& targets() {
  static std::map<std::string, Target> all;
  return all;
}

std::vector<std::string> corpus(const std::string& name) {
  std::vector<std::filesystem::path> paths;
  const auto folder = std::filesystem::path(std::getenv("TENON_FUZZ_CORPUS")) / name;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

// Makes one to four small changes, some of which copy pieces of another input.
class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& inputs) : inputs_(inputs) {}
  std::string operator()(std::string bytes) {
    for (uint64_t changes = 1 + draw(4); changes > 0; --changes) change(bytes);
    return bytes;
  }

 private:
  uint64_t draw(uint64_t below) { return below == 0 ? 0 : engine_() % below; }
  void change(std::string& bytes) {
    const size_t at = draw(bytes.size() + 1);
    const std::string& other = inputs_[draw(inputs_.size())];
    switch (draw(6)) {
      case 0:
        bytes.insert(at, 1, static_cast<char>(draw(256)));
        return;
      case 1:
        bytes.erase(at, 1 + draw(8));
        return;
      case 2:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << draw(8));
        return;
      case 3:
        if (at < bytes.size()) bytes[at] = "\0\xff\x7f\x80,\"{}[]()->.=19"[draw(18)];
        return;
      case 4:
        bytes.resize(at);
        return;
      default:
        bytes.insert(at, other, draw(other.size()), draw(16));
    }
  }
  const std::vector<std::string>& inputs_;
  std::mt19937_64 engine_{20'240'229};
};

constexpr int kMutants = 20'000;  // for each target

class Replay : public testing::TestWithParam<const char*> {};

TEST_P(Replay, TheCorpusAndItsMutants) {
  ASSERT_TRUE(targets().contains(GetParam()));
  const Target target = targets().at(GetParam());
  const std::vector<std::string> inputs = corpus(GetParam());
  ASSERT_FALSE(inputs.empty());
  taken = refused = 0;
  for (const std::string& input : inputs) target(input);
  EXPECT_GT(taken, 0u);
  EXPECT_GT(refused, 0u);
  Mutator mutate(inputs);
  for (int i = 0; i < kMutants; ++i) target(mutate(inputs[static_cast<size_t>(i) % inputs.size()]));
}

INSTANTIATE_TEST_SUITE_P(Each, Replay,
                         testing::Values("safetensors", "gguf", "idx", "csv", "card", "schema",
                                         "graph", "onnx", "einsum"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace

bool add_target(const char* name, Target target) { return targets().emplace(name, target).second; }

}  // namespace tenon::fuzz
