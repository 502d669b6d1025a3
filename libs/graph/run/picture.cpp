#include "run/picture.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "fuse/fused.hpp"
#include "ir/control.hpp"
#include "run/explain.hpp"

namespace tenon::graph {
namespace {

constexpr double kLetter = 6.7, kLine = 15, kPad = 8, kBeside = 18, kBelow = 34;

std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '&')
      made += "&amp;";
    else if (c == '<')
      made += "&lt;";
    else if (c == '>')
      made += "&gt;";
    else if (c == '"')
      made += "&quot;";
    else
      made += c;
  }
  return made;
}

// A drawing whose upper left corner is at 0, 0.
struct Drawing {
  double width = 0, height = 0;
  std::string svg;
};

struct Box {
  const char* style = "node";
  std::vector<std::string> lines = {};
  std::string tooltip = {};
  Drawing inside = {};
  std::vector<size_t> above = {};  // boxes that it reads
  size_t layer = 0;
  double x = 0, y = 0, width = 0, height = 0;
  double middle() const { return x + width / 2; }
};

// Boxes in layers: each box is in the layer just below the lowest box that it reads, horizontally as close to its sources as its
// neighbours allow (Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical System Structures", 1981: layers,
// barycentres).
class Picture {
 public:
  explicit Picture(const Graph& graph, const Arena* arena) : graph_(graph), arena_(arena) {
    for (const View& input : graph.inputs) {
      writer_[input.buffer] = boxes_.size();
      add({"input", {graph.buffers[input.buffer].name, described_type(input)}}, {});
    }
    for (const Node& node : graph.nodes) add_node(node);
    for (const View& result : graph.results)
      add({"result", {"result", described_type(result)}}, {result.buffer});
  }

  Drawing draw() {
    place();
    Drawing made;
    for (const Box& box : boxes_) {
      for (const size_t from : box.above) edge(boxes_[from], box, made.svg);
      made.width = std::max(made.width, box.x + box.width);
      made.height = std::max(made.height, box.y + box.height);
    }
    for (const Box& box : boxes_) write(box, made.svg);
    return made;
  }

 private:
  void add(Box box, const std::vector<uint32_t>& read) {
    for (const uint32_t buffer : read)
      if (const auto found = writer_.find(buffer); found != writer_.end()) {
        box.above.push_back(found->second);
        box.layer = std::max(box.layer, boxes_[found->second].layer + 1);
      }
    std::ranges::sort(box.above);
    box.above.erase(std::unique(box.above.begin(), box.above.end()), box.above.end());
    size_t letters = 0;
    for (const std::string& line : box.lines) letters = std::max(letters, line.size());
    box.width = std::max(static_cast<double>(letters) * kLetter, box.inside.width) + 2 * kPad;
    box.height = static_cast<double>(box.lines.size()) * kLine + box.inside.height + kPad;
    boxes_.push_back(std::move(box));
  }

  void add_node(const Node& node) {
    Box box{node.control != nullptr  ? "control"
            : node.fused != nullptr  ? "fused"
            : node.kernel != nullptr ? "kernel"
                                     : "node",
            {title(node)},
            to_text(graph_, node)};
    std::vector<uint32_t> read, written;
    reads(node, read);
    writes(node, written);
    for (const uint32_t b : read)
      if (is_held(graph_.buffers[b].role))
        box.lines.push_back(fmt::format("{} {}[{}]", graph_.buffers[b].name,
                                        name_of(graph_.buffers[b].dtype), graph_.buffers[b].size));
    for (const View& result : node.results) {
      box.lines.push_back("→ " + described_type(result));
      if (arena_ != nullptr) box.lines.push_back(place_of(result, graph_, *arena_));
    }
    if (node.control != nullptr) box.inside = bodies(*node.control);
    const size_t index = boxes_.size();
    add(std::move(box), read);
    for (const uint32_t b : written) writer_[b] = index;
  }

  static std::string title(const Node& node) {
    if (node.fused == nullptr) return std::string(node.name());
    std::vector<std::string_view> names;
    for (const Node& each : node.fused->nodes) names.push_back(each.name());
    return fmt::to_string(fmt::join(names, " + "));
  }

  // The bodies side by side.
  static Drawing bodies(const Control& control) {
    static constexpr const char* kNames[][2] = {{"then", "else"}, {"while", "do"}, {"each", ""}};
    Drawing made;
    for (size_t i = 0; i < control.bodies.size(); ++i) {
      const Drawing body = Picture(control.bodies[i], nullptr).draw();
      made.svg += fmt::format(
          "<g transform=\"translate({:.0f} {:.0f})\"><text x=\"0\" y=\"0\">{}</text>\n"
          "<g transform=\"translate(0 {:.0f})\">\n{}</g></g>\n",
          made.width, kLine, kNames[static_cast<size_t>(control.kind)][i], kPad, body.svg);
      made.width += body.width + (i + 1 < control.bodies.size() ? kBeside : 0);
      made.height = std::max(made.height, body.height + kLine + kPad);
    }
    return made;
  }

  void place() {
    size_t layers = 0;
    for (const Box& box : boxes_) layers = std::max(layers, box.layer + 1);
    std::vector<std::vector<Box*>> rows(layers);
    for (Box& box : boxes_) rows[box.layer].push_back(&box);
    double y = 0, least = 0;
    for (std::vector<Box*>& row : rows) {
      for (Box* box : row) box->x = wanted(*box);
      std::ranges::stable_sort(row, {}, [](const Box* box) { return box->x; });
      double free = row.empty() ? 0 : row[0]->x, height = 0;
      for (Box* box : row) {
        box->x = std::max(box->x, free);
        box->y = y;
        free = box->x + box->width + kBeside;
        height = std::max(height, box->height);
        least = std::min(least, box->x);
      }
      y += height + kBelow;
    }
    for (Box& box : boxes_) box.x -= least;
  }

  // The preferred position: centred below the boxes that it reads.
  double wanted(const Box& box) const {
    if (box.above.empty()) return 0;
    double sum = 0;
    for (const size_t from : box.above) sum += boxes_[from].middle();
    return sum / static_cast<double>(box.above.size()) - box.width / 2;
  }

  static void edge(const Box& from, const Box& to, std::string& svg) {
    const double x = from.middle(), y = from.y + from.height, at = to.middle(),
                 bend = (to.y - y) / 2;
    fmt::format_to(std::back_inserter(svg),
                   "<path d=\"M{:.0f} {:.0f}C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}\"/>\n", x, y,
                   x, y + bend, at, to.y - bend, at, to.y);
  }

  static void write(const Box& box, std::string& svg) {
    const auto to = std::back_inserter(svg);
    fmt::format_to(to,
                   "<g class=\"{}\" transform=\"translate({:.0f} {:.0f})\"><title>{}</title>"
                   "<rect width=\"{:.0f}\" height=\"{:.0f}\" rx=\"4\"/>\n",
                   box.style, box.x, box.y, escaped(box.tooltip), box.width, box.height);
    for (size_t i = 0; i < box.lines.size(); ++i)
      fmt::format_to(to, "<text x=\"{:.0f}\" y=\"{:.0f}\"{}>{}</text>\n", kPad,
                     kLine * static_cast<double>(i + 1), i == 0 ? " class=\"title\"" : "",
                     escaped(box.lines[i]));
    if (!box.inside.svg.empty())
      fmt::format_to(to, "<g transform=\"translate({:.0f} {:.0f})\">\n{}</g>\n", kPad,
                     kLine * static_cast<double>(box.lines.size()), box.inside.svg);
    svg += "</g>\n";
  }

  const Graph& graph_;
  const Arena* arena_;
  std::vector<Box> boxes_;
  std::map<uint32_t, size_t> writer_;  // by buffer, the box that wrote it last
};

}  // namespace

std::string to_svg(const Graph& graph, const Arena& arena) {
  const Drawing drawing = Picture(graph, &arena).draw();
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"-8 -8 {0:.0f} {1:.0f}\">\n"
      "<style>text{{font:11px "
      "monospace;fill:#222}}.title{{font-weight:bold}}rect{{fill:#eee;stroke:#666}}"
      "path{{fill:none;stroke:#999}}.input rect,.result rect{{fill:#fff}}.kernel "
      "rect{{fill:#dbe9f6}}"
      ".fused rect{{fill:#d9f0d3}}.control>rect{{fill:#fdf1d6}}</style>\n{2}</svg>\n",
      drawing.width + 16, drawing.height + 16, drawing.svg);
}

}  // namespace tenon::graph
