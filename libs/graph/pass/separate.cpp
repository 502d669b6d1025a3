#include <algorithm>

#include "pass/pass.hpp"
#include "pass/values.hpp"

namespace tenon::graph {
namespace {

class Separator {
 public:
  explicit Separator(Graph& graph)
      : graph_(graph), now_(graph.buffers.size()), written_(graph.buffers.size()) {
    for (uint32_t b = 0; b < now_.size(); ++b) now_[b] = b;
  }

  void run() {
    for (Node& node : graph_.nodes) {
      touched_.clear();
      writes(node, touched_);
      for (View& result : node.results)
        if (is_anew(result)) fresh_.push_back(result.buffer);
      for (Argument& argument : node.args) follow(argument);
      for (const uint32_t b : fresh_) {
        now_[b] = static_cast<uint32_t>(graph_.buffers.size());
        graph_.buffers.push_back(graph_.buffers[b]);
      }
      fresh_.clear();
      for (View& result : node.results) result.buffer = now_[result.buffer];
      for (const uint32_t b : touched_) written_[b] = true;
    }
    for (View& result : graph_.results) result.buffer = now_[result.buffer];
  }

 private:
  // Whether the node leaves nothing of what an earlier one wrote there.
  bool is_anew(const View& result) const {
    return written_[result.buffer] && graph_.buffers[result.buffer].role == Role::Temporary &&
           graph_.shows_all(result) && std::ranges::count(touched_, result.buffer) == 1;
  }
  void follow(Argument& argument) const {
    if (auto* view = std::get_if<View>(&argument)) view->buffer = now_[view->buffer];
    if (auto* views = std::get_if<Views>(&argument))
      for (auto& view : *views)
        if (view) view->buffer = now_[view->buffer];
  }

  Graph& graph_;
  std::vector<uint32_t> now_;  // by buffer: the one that holds what it would
  std::vector<bool> written_;
  std::vector<uint32_t> touched_, fresh_;
};

// Whether several nodes write to one buffer.
bool rewrites(const Graph& graph) {
  std::vector<bool> written(graph.buffers.size());
  std::vector<uint32_t> touched;
  for (const Node& node : graph.nodes) {
    touched.clear();
    writes(node, touched);
    for (const uint32_t b : touched) {
      if (written[b]) return true;
      written[b] = true;
    }
  }
  return false;
}

}  // namespace

void separate(Graph& graph) {
  if (rewrites(graph)) Separator(graph).run();
}

}  // namespace tenon::graph
