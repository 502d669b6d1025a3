// A graph in human-readable form:
//
//   input  %0 x: f32[8, 784]
//   weight %1 0.weight: f32[200704]
//   state  %2 0.momentum: f32[200704]
//   number $0 lr
//   %3 = matmul(%0, %1)  f32[8, 256]
//   return %3
#include <fmt/format.h>

#include <cstring>

#include "fuse/fused.hpp"
#include "ir/control.hpp"
#include "ir/schema.hpp"

namespace tenon::graph {
namespace {

std::string real(double number) { return fmt::format("{:.9g}", number); }
std::string complex(const std::complex<double>& number) {
  return fmt::format("{:.9g}{:+.9g}i", number.real(), number.imag());
}

std::string number_text(const Number& number) {
  return visit(number.dtype, [&]<class T>(T value) -> std::string {
    std::memcpy(&value, number.bytes.data(), sizeof value);
    if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>)
      return fmt::to_string(value);
    else if constexpr (std::is_convertible_v<T, double>)
      return real(static_cast<double>(value));
    else
      return complex(value);
  });
}

class Writer {
 public:
  explicit Writer(const Graph& graph)
      : graph_(graph), sizes_(&graph.sizes), varying_(varying_numbers(graph)) {}

  // The number itself, or how it depends on the sizes of the inputs.
  std::string number(const int64_t& value) const {
    const auto found = varying_.find(&value);
    return found == varying_.end() ? fmt::to_string(value) : to_text(*sizes_, found->second->size);
  }
  // The same for floating-point numbers.
  std::string in_form(const void* value, std::string plain) const {
    static constexpr const char* kForms[] = {"{}",         "1/({})",        "sqrt({})",
                                             "1/sqrt({})", "n/(n-1) of {}", "log({})"};
    static constexpr const char* kScales[] = {"{}", "{}*{:.9g}", "{}/{:.9g}", "{1:.9g}/({0})"};
    const auto found = varying_.find(value);
    if (found == varying_.end()) return plain;
    const Varying& how = *found->second;
    const std::string form = fmt::format(fmt::runtime(kForms[static_cast<size_t>(how.form)]),
                                         to_text(*sizes_, how.size));
    const std::string scaled =
        fmt::format(fmt::runtime(kScales[static_cast<size_t>(how.scale)]), form, how.factor);
    return how.plus == 0 ? scaled : fmt::format("{} + {}", scaled, how.plus);
  }
  std::string list_of(std::span<const int64_t> numbers) const {
    std::vector<std::string> texts;
    for (const int64_t& one : numbers) texts.push_back(number(one));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }
  std::string type_of(const View& view) const {
    return fmt::format("{}{}", name_of(view.dtype), list_of(view.shape));
  }

  // A whole buffer is shown by its number; for a part, also its position.
  std::string view(const View& of) const {
    if (of.offset == 0 && of.contiguous() && of.numel() == graph_.buffers[of.buffer].size)
      return fmt::format("%{}", of.buffer);
    return fmt::format("%{}{{{} + {} by {}}}", of.buffer, number(of.offset), list_of(of.shape),
                       list_of(of.strides));
  }

  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool value) const { return fmt::to_string(value); }
  std::string operator()(const int64_t& value) const { return number(value); }
  std::string operator()(const double& value) const { return in_form(&value, real(value)); }
  std::string operator()(const std::complex<double>& value) const { return complex(value); }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(const std::vector<int64_t>& value) const { return list_of(value); }
  std::string operator()(const std::vector<double>& value) const {
    return fmt::format("[{:.9g}]", fmt::join(value, ", "));
  }
  std::string operator()(DType value) const { return std::string(name_of(value)); }
  std::string operator()(Here) const { return "here"; }
  std::string operator()(Draw) const { return "drawn"; }
  std::string operator()(const Symbolic& value) const { return fmt::format("${}", value.symbol); }
  std::string operator()(const Number& value) const { return in_form(&value, number_text(value)); }
  std::string operator()(const View& value) const { return view(value); }
  std::string operator()(const Views& value) const {
    std::vector<std::string> views;
    for (const auto& one : value) views.push_back(one ? view(*one) : "none");
    return fmt::format("[{}]", fmt::join(views, ", "));
  }

  std::string node(const Node& of, size_t indent = 0) const {
    static const std::vector<Parameter> no_names;
    const auto& known = of.op == nullptr ? no_names : parameters(*of.op);
    std::vector<std::string> results, types, args;
    for (const View& result : of.results) {
      results.push_back(view(result));
      types.push_back(type_of(result));
    }
    for (size_t i = 0; i < of.args.size(); ++i) {
      const bool operand = of.args[i].index() >= Argument(Number()).index();
      const std::string text = std::visit(*this, of.args[i]);
      args.push_back(operand ? text : fmt::format("{}={}", known[i].name, text));
    }
    std::string text = fmt::format("{:{}}{}{}{}({})  {}\n", "", indent, fmt::join(results, ", "),
                                   results.empty() ? "" : " = ", name(of), fmt::join(args, ", "),
                                   fmt::join(types, ", "));
    if (of.control != nullptr)
      for (size_t i = 0; i < of.control->bodies.size(); ++i)
        text += body(*of.control, i, indent + 2);
    return text;
  }

 private:
  std::string body(const Control& control, size_t i, size_t indent) const {
    static constexpr const char* kNames[][2] = {{"then", "else"}, {"while", "do"}, {"each", ""}};
    if (is_refused(control, i))
      return fmt::format("{:{}}{} is refused: {}\n", "", indent,
                         kNames[static_cast<size_t>(control.kind)][i], control.refused[i]);
    const Graph& graph = control.bodies[i];
    Writer inner(graph);
    inner.sizes_ = sizes_;
    inner.varying_ = varying_;
    std::vector<std::string> inputs, results;
    for (const View& input : graph.inputs) inputs.push_back(fmt::format("%{}", input.buffer));
    for (const View& result : graph.results) results.push_back(inner.view(result));
    std::string text =
        fmt::format("{:{}}{}({})\n", "", indent, kNames[static_cast<size_t>(control.kind)][i],
                    fmt::join(inputs, ", "));
    for (size_t b = 0; b < graph.buffers.size(); ++b)
      if (is_held(graph.buffers[b].role))
        text +=
            fmt::format("{:{}}weight %{} {}: {}[{}]\n", "", indent + 2, b, graph.buffers[b].name,
                        name_of(graph.buffers[b].dtype), graph.buffers[b].size);
    for (const Node& each : graph.nodes) text += inner.node(each, indent + 2);
    return text + fmt::format("{:{}}return {}\n", "", indent + 2, fmt::join(results, ", "));
  }
  // The fused ops in order: "mul+add+tanh".
  static std::string name(const Node& node) {
    if (node.fused == nullptr) return std::string(node.name());
    std::vector<std::string_view> names;
    for (const Node& each : node.fused->nodes) names.push_back(each.name());
    return fmt::to_string(fmt::join(names, "+"));
  }

  const Graph& graph_;
  const Sizes* sizes_;
  std::unordered_map<const void*, const Varying*> varying_;
};

}  // namespace

std::string to_text(const Graph& graph, const Node& node) { return Writer(graph).node(node); }

std::string to_text(const Graph& graph) {
  const Writer write(graph);
  std::string text;
  const auto to = std::back_inserter(text);
  for (const View& input : graph.inputs)
    fmt::format_to(to, "input  %{} {}: {}\n", input.buffer, graph.buffers[input.buffer].name,
                   write.type_of(input));
  for (size_t b = 0; b < graph.buffers.size(); ++b) {
    const Buffer& buffer = graph.buffers[b];
    if (is_held(buffer.role))
      fmt::format_to(to, "{} %{} {}: {}[{}]\n", buffer.role == Role::State ? "state " : "weight", b,
                     buffer.name, name_of(buffer.dtype), buffer.size);
  }
  for (const Dim& dim : graph.sizes.dims) {
    const std::string by = dim.multiple == 1 ? "" : fmt::format(" by {}", dim.multiple);
    if (dim.max == Dim{}.max)
      fmt::format_to(to, "size   {}: from {}{}\n", dim.name, dim.min, by);
    else
      fmt::format_to(to, "size   {}: {} to {}{}\n", dim.name, dim.min, dim.max, by);
  }
  for (size_t i = 0; i < graph.symbols.size(); ++i)
    fmt::format_to(to, "number ${} {}\n", i, graph.symbols[i].name);
  for (const Node& node : graph.nodes) text += write.node(node);
  std::vector<std::string> results;
  for (const View& result : graph.results) results.push_back(write.view(result));
  fmt::format_to(to, "return {}\n", fmt::join(results, ", "));
  return text;
}

}  // namespace tenon::graph
