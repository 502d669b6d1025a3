// tenon graph: what a graph's file computes, its results and its speed.
#include "tenon/graph.hpp"

#include <fmt/ranges.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "bench.hpp"
#include "command.hpp"
#include "tenon/io.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::ordered_json;
using graph::Program;

struct Value {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::string type() const { return fmt::format("{}[{}]", name_of(dtype), fmt::join(shape, ", ")); }
};

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

Json to_json(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values)
    list.push_back({{"name", value.name}, {"dtype", name_of(value.dtype)}, {"shape", value.shape}});
  return list;
}

void show_json(const Program& program) {
  const tn_program_info info = program.info();
  const Json found = {{"device", program.device().id()},
                      {"inputs", to_json(inputs_of(program))},
                      {"results", to_json(results_of(program))},
                      {"nodes", info.nodes},
                      {"bound", info.bound},
                      {"arena_bytes", info.arena},
                      {"unshared_bytes", info.unshared},
                      {"weight_bytes", info.weights}};
  std::cout << found.dump(2) << '\n';
}

void show(const Program& program) {
  const tn_program_info info = program.info();
  std::vector<std::vector<std::string>> rows = {{"", "NAME", "TYPE"}};
  for (const Value& value : inputs_of(program)) rows.push_back({"input", value.name, value.type()});
  for (const Value& value : results_of(program))
    rows.push_back({"result", value.name, value.type()});
  print_table(rows);
  fmt::print("\non {}: {} nodes, {} of them kernels that run without a call\n",
             program.device().id(), info.nodes, info.bound);
  fmt::print("{} of weights, {} of memory to work in, {} without sharing\n",
             format_bytes(static_cast<double>(info.weights)),
             format_bytes(static_cast<double>(info.arena)),
             format_bytes(static_cast<double>(info.unshared)));
}

// The inputs in a file of tensors, by their names.
std::vector<Tensor> read_inputs(const Program& program, const std::string& path) {
  const io::SafeTensors file = io::load_safetensors(path, program.device());
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file.tensors) names.push_back(name);
  std::vector<Tensor> inputs;
  for (const Value& value : inputs_of(program)) {
    const auto found = file.tensors.find(value.name);
    if (found == file.tensors.end())
      throw Error(TN_INVALID_ARGUMENT,
                  fmt::format("{} has no tensor '{}', the {} that the graph takes (it has: {})",
                              path, value.name, value.type(), fmt::join(names, ", ")));
    inputs.push_back(found->second);
  }
  return inputs;
}

int run_once(const Program& program, const po::variables_map& given) {
  if (!given.contains("out"))
    throw UsageError("--run needs a file for the results, as in: --out results.safetensors");
  const std::vector<Tensor> results = program(read_inputs(program, given["run"].as<std::string>()));
  io::TensorMap named;
  for (size_t i = 0; i < results.size(); ++i) named[fmt::format("result{}", i)] = results[i];
  io::save_safetensors(given["out"].as<std::string>(), named);
  for (const Value& value : results_of(program)) fmt::print("{}  {}\n", value.name, value.type());
  return kOk;
}

// Numbers that any graph takes: 0 where they may be indices, true where they may be masks.
Tensor drawn(const Value& value) {
  const bool numbers = is_floating(value.dtype) || is_complex(value.dtype);
  if (numbers) return normal(value.shape, 0.0, 1.0, DType::F32).to(value.dtype);
  return full(value.shape, value.dtype == DType::Bool ? 1 : 0, value.dtype, Device("cpu"));
}

// Side by side on the devices, as tenon bench does.
int time_runs(const std::string& path, const po::variables_map& given) {
  const int rounds = given["rounds"].as<int>();
  if (rounds < 1) throw UsageError("--rounds must be at least 1");
  std::vector<Device> on;
  for (const std::string& id : given["device"].as<std::vector<std::string>>()) on.emplace_back(id);
  if (graph::load(path).info().results == 0)
    throw Error(TN_INVALID_ARGUMENT, fmt::format("{} has no results to time", path));
  const auto prepare = [&path](Device device) {
    const Program program = graph::load(path, device);
    std::vector<Tensor> inputs;
    for (const Value& value : inputs_of(program)) inputs.push_back(drawn(value).to(device));
    return [program, inputs] { return program(inputs)[0]; };
  };
  const std::vector<Work> works = {{path, "runs/s", 1, 1e-3, prepare}};
  const Report report{machine_name(), {}, measure(works, on, static_cast<uint32_t>(rounds))};
  print_rows(report);
  for (const Measurement& m : report.rows[0].measurements)
    if (!m.agrees) return kFailed;
  return kOk;
}

int run(const po::variables_map& given) {
  if (!given.contains("file"))
    throw UsageError("graph needs a file, as in: tenon graph net.safetensors");
  const std::string path = given["file"].as<std::string>();
  const auto devices = given["device"].as<std::vector<std::string>>();
  const bool timed = given["time"].as<bool>();
  if (devices.size() > 1 && !timed) throw UsageError("several devices are for --time");
  if (given.contains("out") && !given.contains("run"))
    throw UsageError(
        "--out is for --run, as in: --run inputs.safetensors --out results.safetensors");
  if (timed) return time_runs(path, given);
  const Program program = graph::load(path, Device(devices.front()));
  if (given.contains("run")) return run_once(program, given);
  if (given["json"].as<bool>())
    show_json(program);
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
      "a graph's file: what it takes and gives, its ops, its results, its speed",
      "  tenon graph net.safetensors\n"
      "  tenon graph net.safetensors --print\n"
      "  tenon graph net.safetensors --lowered --device vulkan\n"
      "  tenon graph net.safetensors --run inputs.safetensors --out results.safetensors\n"
      "  tenon graph net.safetensors --time --device cpu --device vulkan\n",
      {},
      {},
      &run};
  command.options.add_options()("help,h", "show this help")("file", po::value<std::string>(),
                                                            "what Program.save wrote")(
      "device", po::value<std::vector<std::string>>()->composing()->default_value({"cpu"}, "cpu"),
      "where it runs; several with --time")("print", po::bool_switch(),
                                            "its ops, as they were recorded")(
      "lowered", po::bool_switch(), "its ops, as the device runs them")(
      "run", po::value<std::string>(), "compute the results of a safetensors file's tensors")(
      "out", po::value<std::string>(), "where the results go: result0, result1 …")(
      "time", po::bool_switch(), "time runs of drawn inputs; compare the devices' results")(
      "rounds", po::value<int>()->default_value(7), "rounds of --time; medians are shown")(
      "json", po::bool_switch(), "machine-readable: inputs, results, nodes, bytes");
  command.positional.add("file", 1);
  return command;
}

}  // namespace tenon::tool
