#include "run/by_calls.hpp"

#include <algorithm>

#include "run/unlayered.hpp"
#include "tenon/autograd.hpp"
#include "tenon/creation.hpp"
#include "trace/derived.hpp"

namespace tenon::graph {

ByCalls::ByCalls(const Graph& whole, Device device)
    : graph_(whole), device_(device), flats_(whole.buffers.size()) {
  graph_.sizes = {};
  for (uint32_t b = 0; b < flats_.size(); ++b)
    if (is_held(graph_.buffers[b].role)) flats_[b] = graph_.buffers[b].constant;
  find_lives();
}

void ByCalls::find_lives() {
  lives_.resize(graph_.nodes.size());
  constexpr size_t kUnused = SIZE_MAX;
  std::vector<size_t> last(graph_.buffers.size(), kUnused);
  std::vector<uint32_t> read, written;
  for (size_t at = 0; at < lives_.size(); ++at, read.clear(), written.clear()) {
    reads(graph_.nodes[at], read);
    writes(graph_.nodes[at], written);
    Life& life = lives_[at];
    const auto touch = [&](uint32_t b) {
      if (last[b] == kUnused && graph_.buffers[b].role == Role::Temporary) life.begin.push_back(b);
      last[b] = at;
    };
    std::ranges::for_each(read, touch);
    life.makes = life.begin.empty();
    std::ranges::for_each(written, touch);
    life.makes = life.makes && !life.begin.empty() &&
                 life.begin.size() == graph_.nodes[at].results.size() &&
                 life.begin.size() == written.size();
  }
  for (const View& result : graph_.results) last[result.buffer] = kUnused;
  for (uint32_t b = 0; b < last.size(); ++b)
    if (last[b] != kUnused && graph_.buffers[b].role == Role::Temporary)
      lives_[last[b]].end.push_back(b);
}

void ByCalls::set(const Graph& whole, std::span<const int64_t> dims) {
  if (!std::ranges::equal(dims, dims_)) {
    dims_.clear();  // while the numbers may be mixed
    make_concrete(graph_, whole.sizes, dims);
    dims_.assign(dims.begin(), dims.end());
  }
  graph_.symbols = whole.symbols;
}

void ByCalls::run(std::span<tn_tensor* const> inputs, tn_tensor** results) {
  const NoGrad no_grad;
  const Unlayered unlayered;
  for (size_t i = 0; i < inputs.size(); ++i)
    flats_[graph_.inputs[i].buffer] = Tensor::share(inputs[i]).contiguous();
  Replay replay(flats_, device_, graph_.symbols);
  replay.keep_views();
  for (size_t at = 0; at < lives_.size(); ++at) {
    run_node(at, replay);
    for (const uint32_t b : lives_[at].end) {
      replay.forget(b);
      flats_[b] = Tensor();
    }
  }
  std::vector<Tensor> made;
  for (const View& view : graph_.results) made.push_back(given_out(graph_, replay.tensor(view)));
  for (size_t k = 0; k < made.size(); ++k) results[k] = made[k].take();
  for (uint32_t b = 0; b < flats_.size(); ++b)
    if (!is_held(graph_.buffers[b].role)) flats_[b] = Tensor();
}

void ByCalls::run_node(size_t at, Replay& replay) {
  const Node& node = graph_.nodes[at];
  const Life& life = lives_[at];
  const bool whole =
      std::ranges::all_of(node.results, [&](const View& view) { return graph_.shows_all(view); });
  if (life.makes && whole) return replay.run_new(node, flats_);
  for (const uint32_t b : life.begin)
    flats_[b] = empty(graph_.buffers[b].size, graph_.buffers[b].dtype, device_);
  replay.run(node);
}

}  // namespace tenon::graph
