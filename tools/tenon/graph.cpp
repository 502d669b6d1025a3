// tenon graph: what a graph file computes, its results and its speed.
#include "tenon/graph.hpp"

#include <fmt/ranges.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "values.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::ordered_json;
using graph::Program;

using Getter = tn_status* (*)(const tn_program*, uint32_t, tn_program_value*);

std::vector<Value> values_of(const Program& program, uint32_t count, Getter get) {
  std::vector<Value> values;
  for (uint32_t i = 0; i < count; ++i) {
    tn_program_value found{};
    found.struct_size = sizeof found;
    detail::check(get(program.get(), i, &found));
    values.push_back({std::string(detail::to_view(found.name)),
                      static_cast<DType>(found.dtype),
                      {found.shape, found.shape + found.ndim}});
  }
  return values;
}
std::vector<Value> inputs_of(const Program& program) {
  return values_of(program, program.info().inputs, &tn_program_input);
}
// Named result0, result1 and so on.
std::vector<Value> results_of(const Program& program) {
  std::vector<Value> values = values_of(program, program.info().results, &tn_program_result);
  for (size_t i = 0; i < values.size(); ++i) values[i].name = fmt::format("result{}", i);
  return values;
}

void show_json(const Program& program) {
  const tn_program_info info = program.info();
  const Json found = {{"device", program.device().id()},
                      {"inputs", to_json(inputs_of(program))},
                      {"results", to_json(results_of(program))},
                      {"nodes", info.nodes},
                      {"bound", info.bound},
                      {"fused_ops", info.fused},
                      {"arena_bytes", info.arena},
                      {"unshared_bytes", info.unshared},
                      {"weight_bytes", info.weights},
                      {"state_bytes", info.state}};
  std::cout << found.dump(2) << '\n';
}

void show(const Program& program) {
  const tn_program_info info = program.info();
  std::vector<std::vector<std::string>> rows = {{"", "NAME", "TYPE"}};
  for (const Value& value : inputs_of(program)) rows.push_back({"input", value.name, value.type()});
  for (const Value& value : results_of(program))
    rows.push_back({"result", value.name, value.type()});
  print_table(rows);
  fmt::print("\non {}: {} nodes, {} of them kernels that run without a call{}\n",
             program.device().id(), info.nodes, info.bound,
             info.fused == 0 ? "" : fmt::format(", {} ops fused", info.fused));
  fmt::print("{} of weights, {} of memory to work in, {} without sharing\n",
             format_bytes(static_cast<double>(info.weights)),
             format_bytes(static_cast<double>(info.arena)),
             format_bytes(static_cast<double>(info.unshared)));
  if (info.state != 0)
    fmt::print("{} of state, which runs write to\n", format_bytes(static_cast<double>(info.state)));
}

int run_once(const Program& program, const po::variables_map& given) {
  if (!given.contains("out"))
    throw UsageError("--run needs a file for the results, as in: --out results.safetensors");
  write_results(
      program(read_inputs(inputs_of(program), given["run"].as<std::string>(), program.device())),
      given["out"].as<std::string>());
  return kOk;
}

// Chooses the varying sizes: 8, or the nearest that the program accepts.
void choose_sizes(const Program& program, uint32_t input, Value& value) {
  tn_program_value found{};
  found.struct_size = sizeof found;
  detail::check(tn_program_input(program.get(), input, &found));
  for (uint32_t d = 0; d < found.ndim; ++d) {
    if (value.shape[d] >= 0) continue;
    tn_trace_dim dim{};
    dim.struct_size = sizeof dim;
    detail::check(tn_program_get_dim(program.get(), static_cast<uint32_t>(found.dims[d]), &dim));
    value.shape[d] = std::max<int64_t>(8, dim.min);
    if (dim.max != 0) value.shape[d] = std::min(value.shape[d], dim.max);
  }
}

int time_program(const std::string& path, const po::variables_map& given) {
  const Program on_host = graph::load(path);
  if (on_host.info().results == 0)
    throw Error(TN_INVALID_ARGUMENT, fmt::format("{} has no results to time", path));
  const auto runner = [&](Device device) -> Runner {
    const Program program = graph::load(path, device);
    return [program](const std::vector<Tensor>& inputs) { return program(inputs); };
  };
  std::vector<Value> inputs = inputs_of(on_host);
  for (uint32_t i = 0; i < inputs.size(); ++i) choose_sizes(on_host, i, inputs[i]);
  return time_runs(path, inputs, runner, given);
}

int run(const po::variables_map& given) {
  if (!given.contains("file"))
    throw UsageError("graph needs a file, as in: tenon graph net.safetensors");
  const std::string path = given["file"].as<std::string>();
  const auto devices = given["device"].as<std::vector<std::string>>();
  const bool timed = given["time"].as<bool>();
  if (devices.size() > 1 && !timed) throw UsageError("several devices need --time");
  if (given.contains("out") && !given.contains("run"))
    throw UsageError(
        "--out is for --run, as in: --run inputs.safetensors --out results.safetensors");
  if (timed) return time_program(path, given);
  const Program program = graph::load(path, Device(devices.front()));
  if (given.contains("run")) return run_once(program, given);
  if (given["json"].as<bool>())
    show_json(program);
  else if (given["explain"].as<bool>())
    fmt::print("{}", program.explain());
  else if (given["svg"].as<bool>())
    fmt::print("{}", program.svg());
  else if (given["print"].as<bool>() || given["lowered"].as<bool>())
    fmt::print("{}", program.text(given["lowered"].as<bool>()));
  else
    show(program);
  return kOk;
}

}  // namespace

Command graph_command() {
  Command command{
      "graph",
      "show, run and time a saved graph",
      "  tenon graph net.safetensors\n"
      "  tenon graph net.safetensors --print\n"
      "  tenon graph net.safetensors --lowered --device vulkan\n"
      "  tenon graph net.safetensors --explain\n"
      "  tenon graph net.safetensors --svg > net.svg\n"
      "  tenon graph net.safetensors --run inputs.safetensors --out results.safetensors\n"
      "  tenon graph net.safetensors --time --device cpu --device vulkan\n",
      {},
      {},
      &run};
  command.options.add_options()("help,h", "show this help")("file", po::value<std::string>(),
                                                            "a file that Program.save wrote")(
      "device", po::value<std::vector<std::string>>()->composing()->default_value({"cpu"}, "cpu"),
      "device to run on; give several with --time")("print", po::bool_switch(),
                                                    "show its ops as they were recorded")(
      "lowered", po::bool_switch(), "show its ops as the device runs them")(
      "explain", po::bool_switch(),
      "like --lowered, with kernels, fused ops, places in memory, and why ops run alone")(
      "svg", po::bool_switch(), "draw it as an SVG document")(
      "run", po::value<std::string>(), "compute results from the tensors of a safetensors file")(
      "out", po::value<std::string>(), "file for the results of --run: result0, result1 …")(
      "time", po::bool_switch(), "time runs with random inputs and compare the devices' results")(
      "rounds", po::value<int>()->default_value(7), "rounds of --time; the report shows medians")(
      "json", po::bool_switch(),
      "print JSON: inputs, results, nodes, bytes; with --time, the times");
  command.positional.add("file", 1);
  return command;
}

}  // namespace tenon::tool
