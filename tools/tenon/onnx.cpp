// tenon onnx: a model's inputs, results and ops, its results on given inputs, its speed; and its conversion to a graph of Tenon's own.
#include "tenon/onnx.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <map>
#include <set>
#include <system_error>

#include "tenon/graph.hpp"
#include "values.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::ordered_json;
using onnx::Model;
// A size that the model leaves open, or a range of it.
struct Size {
  int64_t least, most;
};
using Sizes = std::map<std::string, Size>;

std::string text_of(tn_str text) { return std::string(detail::to_view(text)); }

int64_t number_of(std::string_view text) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

// The NAME=N and NAME=N..M of --size. Only `ranges` may be given as ranges.
Sizes sizes_of(const po::variables_map& given, bool ranges) {
  Sizes sizes;
  for (const std::string& word : given["size"].as<std::vector<std::string>>()) {
    const size_t at = word.rfind('='), name = at == std::string::npos ? word.size() : at + 1;
    const std::string_view text = std::string_view(word).substr(name);
    const size_t dots = text.find("..");
    Size size{number_of(text.substr(0, dots)), 0};
    size.most = dots == std::string_view::npos ? size.least : number_of(text.substr(dots + 2));
    if (at == std::string::npos || size.least < 0 || size.most < size.least)
      throw UsageError(
          "--size takes a name and a number, or a range for --to, as in: --size batch=8 "
          "--size length=1..512");
    if (size.least != size.most && !ranges) throw UsageError("a range of --size is for --to");
    sizes[word.substr(0, at)] = size;
  }
  return sizes;
}

std::string shape_of(const tn_onnx_port& port) {
  if (port.ranked == 0) return "[…]";
  std::vector<std::string> sizes;
  for (uint32_t d = 0; d < port.ndim; ++d)
    sizes.push_back(port.shape[d] >= 0          ? std::to_string(port.shape[d])
                    : port.symbols[d].size != 0 ? text_of(port.symbols[d])
                                                : "?");
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}
std::string type_of(const tn_onnx_port& port) {
  const std::string type =
      fmt::format("{}{}", name_of(static_cast<DType>(port.dtype)), shape_of(port));
  return port.kind == TN_ONNX_SEQUENCE ? fmt::format("sequence of {}", type) : type;
}

// A name that no input has is a slip.
void check_names(const Model& model, const Sizes& sizes) {
  std::set<std::string> open;
  for (uint32_t i = 0; i < model.info().inputs; ++i) {
    const tn_onnx_port port = model.input(i);
    for (uint32_t d = 0; d < port.ndim; ++d)
      if (port.shape[d] < 0 && port.symbols[d].size != 0) open.insert(text_of(port.symbols[d]));
  }
  for (const auto& [name, size] : sizes)
    if (!open.contains(name))
      throw UsageError(
          fmt::format("--size: no size '{}'; the model leaves open: {}", name,
                      open.empty() ? "none" : fmt::format("{}", fmt::join(open, ", "))));
}

// With the sizes of --size where the model leaves them open, otherwise 1.
std::vector<Value> inputs_of(const Model& model, const Sizes& sizes) {
  std::vector<Value> values;
  for (uint32_t i = 0; i < model.info().inputs; ++i) {
    const tn_onnx_port port = model.input(i);
    if (port.kind != TN_ONNX_TENSOR || port.ranked == 0)
      throw Error(TN_INVALID_ARGUMENT,
                  fmt::format("input '{}' is {}, which --run, --time and --to do not take",
                              text_of(port.name), type_of(port)));
    Value value{text_of(port.name), static_cast<DType>(port.dtype), {}};
    for (uint32_t d = 0; d < port.ndim; ++d) {
      const auto found = sizes.find(text_of(port.symbols[d]));
      value.shape.push_back(port.shape[d] >= 0     ? port.shape[d]
                            : found == sizes.end() ? 1
                                                   : found->second.least);
    }
    values.push_back(std::move(value));
  }
  return values;
}

// (op, how often), the most frequent first.
std::vector<std::pair<std::string, std::string>> ops_of(const Model& model) {
  std::string text;
  detail::check(tn_onnx_list_ops(model.get(), &detail::append_text, &text));
  std::vector<std::pair<std::string, std::string>> ops;
  for (size_t at = 0; at < text.size();) {
    const size_t first = text.find('\t', at), second = text.find('\t', first + 1),
                 end = text.find('\n', second);
    const std::string domain = text.substr(at, first - at),
                      op = text.substr(first + 1, second - first - 1);
    ops.emplace_back(domain.empty() ? op : std::string(domain).append("::").append(op),
                     text.substr(second + 1, end - second - 1));
    at = end + 1;
  }
  std::ranges::stable_sort(ops, [](const auto& a, const auto& b) {
    return std::stoull(a.second) > std::stoull(b.second);
  });
  return ops;
}

void show(const Model& model) {
  const tn_onnx_info info = model.info();
  std::vector<std::vector<std::string>> rows = {{"", "NAME", "TYPE"}};
  for (uint32_t i = 0; i < info.inputs; ++i)
    rows.push_back({"input", text_of(model.input(i).name), type_of(model.input(i))});
  for (uint32_t i = 0; i < info.results; ++i)
    rows.push_back({"result", text_of(model.result(i).name), type_of(model.result(i))});
  print_table(rows);
  fmt::print("\n{} nodes in opset {}, {} of weights", info.nodes, info.opset,
             format_bytes(static_cast<double>(info.weight_bytes)));
  if (info.producer.size != 0) fmt::print(", by {}", text_of(info.producer));
  if (info.producer_version.size != 0) fmt::print(" {}", text_of(info.producer_version));
  std::vector<std::string> ops;
  for (const auto& [op, count] : ops_of(model)) ops.push_back(fmt::format("{} {}", count, op));
  fmt::print("\n{}\n", fmt::join(ops, ", "));
}

void show_json(const Model& model) {
  const tn_onnx_info info = model.info();
  const auto ports = [](uint32_t count, auto get) {
    Json list = Json::array();
    for (uint32_t i = 0; i < count; ++i) {
      const tn_onnx_port port = get(i);
      list.push_back({{"name", text_of(port.name)},
                      {"dtype", name_of(static_cast<DType>(port.dtype))},
                      {"shape", shape_of(port)}});
    }
    return list;
  };
  Json ops = Json::object();
  for (const auto& [op, count] : ops_of(model)) ops[op] = std::stoull(count);
  const Json found = {{"inputs", ports(info.inputs, [&](uint32_t i) { return model.input(i); })},
                      {"results", ports(info.results, [&](uint32_t i) { return model.result(i); })},
                      {"nodes", info.nodes},
                      {"opset", info.opset},
                      {"ir_version", info.ir_version},
                      {"producer", text_of(info.producer)},
                      {"weight_bytes", info.weight_bytes},
                      {"ops", ops}};
  std::cout << found.dump(2) << '\n';
}

// The program for inputs of these sizes; its weights have the model's names.
graph::Program traced(const Model& model, const std::vector<Value>& inputs, Device device) {
  std::vector<Tensor> like;
  for (const Value& value : inputs) like.push_back(empty(value.shape, value.dtype));
  return graph::trace(
      like, [&](std::span<const Tensor> in) { return model(TensorList(in)); }, device);
}

// The program for all sizes that the model leaves open and --size does not fix.
graph::Program traced_at_sizes(const Model& model, const Sizes& sizes) {
  constexpr int64_t kExample = 64;  // a multiple of what models ask for
  std::vector<Value> inputs = inputs_of(model, sizes);
  graph::Dims dims(inputs.size());
  bool any = false;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    const tn_onnx_port port = model.input(i);
    for (uint32_t d = 0; d < port.ndim; ++d) {
      if (port.shape[d] >= 0) continue;
      const std::string symbol = text_of(port.symbols[d]);
      const auto found = sizes.find(symbol);
      const bool given = found != sizes.end();
      if (given && found->second.least == found->second.most) continue;
      graph::Dim dim{symbol.empty() ? fmt::format("{}.{}", inputs[i].name, d) : symbol};
      if (given) dim.min = found->second.least, dim.max = found->second.most;
      inputs[i].shape[d] = given ? std::clamp(kExample, dim.min, dim.max) : kExample;
      dims[i].emplace(d, std::move(dim));
      any = true;
    }
  }
  if (!any) return traced(model, inputs, {});
  std::vector<Tensor> like;
  for (const Value& value : inputs) like.push_back(empty(value.shape, value.dtype));
  try {
    return graph::trace(like, dims,
                        [&](std::span<const Tensor> in) { return model(TensorList(in)); });
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("{}; --size NAME=N fixes a size, --size NAME=N..M gives its range",
                            error.what()));
  }
}

int run(const po::variables_map& given) {
  if (!given.contains("file")) throw UsageError("onnx needs a file, as in: tenon onnx net.onnx");
  const std::string path = given["file"].as<std::string>();
  const auto devices = given["device"].as<std::vector<std::string>>();
  const bool timed = given["time"].as<bool>();
  if (devices.size() > 1 && !timed) throw UsageError("several devices need --time");
  if (given.contains("out") != given.contains("run"))
    throw UsageError(
        "--run and --out go together: --run inputs.safetensors --out results.safetensors");
  const Model model = onnx::load(path);
  const Sizes sizes = sizes_of(given, given.contains("to"));
  check_names(model, sizes);
  if (timed)
    return time_runs(
        path, inputs_of(model, sizes),
        [&](Device device) -> Runner {
          const graph::Program program = traced(model, inputs_of(model, sizes), device);
          return [program](const std::vector<Tensor>& inputs) { return program(inputs); };
        },
        given);
  if (given.contains("run")) {
    const std::vector<Tensor> inputs = read_inputs(
        inputs_of(model, sizes), given["run"].as<std::string>(), Device(devices.front()));
    write_results(model(inputs), given["out"].as<std::string>());
  } else if (given.contains("to")) {
    const graph::Program program = traced_at_sizes(model, sizes);
    program.save(given["to"].as<std::string>());
    fmt::print("{}: {} nodes\n", given["to"].as<std::string>(), program.info().nodes);
  } else if (given["json"].as<bool>()) {
    show_json(model);
  } else {
    show(model);
  }
  return kOk;
}

}  // namespace

Command onnx_command() {
  Command command{
      "onnx",
      "show, run and time an ONNX model, or convert it to a graph",
      "  tenon onnx net.onnx\n"
      "  tenon onnx net.onnx --run inputs.safetensors --out results.safetensors\n"
      "  tenon onnx net.onnx --time --size batch=8 --device cpu --device vulkan\n"
      "  tenon onnx net.onnx --to net.safetensors --size batch=8 --size length=1..512\n",
      {},
      {},
      &run};
  command.options.add_options()("help,h", "show this help")("file", po::value<std::string>(),
                                                            "the model")(
      "device", po::value<std::vector<std::string>>()->composing()->default_value({"cpu"}, "cpu"),
      "device to run on; give several with --time")(
      "size", po::value<std::vector<std::string>>()->composing()->default_value({}, ""),
      "a size that the model leaves open, as NAME=N (default: 1; with --to it stays open), or for "
      "--to "
      "a range, as NAME=N..M")("run", po::value<std::string>(),
                               "compute results from the tensors of a safetensors file")(
      "out", po::value<std::string>(), "file for the results of --run: result0, result1 …")(
      "to", po::value<std::string>(), "convert it to a graph for tenon graph and tn_program_load")(
      "time", po::bool_switch(), "time runs with random inputs and compare the devices' results")(
      "rounds", po::value<int>()->default_value(7), "rounds of --time; the report shows medians")(
      "json", po::bool_switch(), "print JSON: inputs, results, ops, bytes; with --time, the times");
  command.positional.add("file", 1);
  return command;
}

}  // namespace tenon::tool
