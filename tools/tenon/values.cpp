#include "values.hpp"

#include <fmt/ranges.h>

#include "bench.hpp"
#include "tenon/io.hpp"

namespace tenon::tool {

std::string Value::type() const {
  std::vector<std::string> sizes;
  for (const int64_t size : shape) sizes.push_back(size < 0 ? "?" : fmt::to_string(size));
  return fmt::format("{}[{}]", name_of(dtype), fmt::join(sizes, ", "));
}

nlohmann::ordered_json to_json(const std::vector<Value>& values) {
  auto list = nlohmann::ordered_json::array();
  for (const Value& value : values)
    list.push_back({{"name", value.name}, {"dtype", name_of(value.dtype)}, {"shape", value.shape}});
  return list;
}

std::vector<Tensor> read_inputs(const std::vector<Value>& wanted, const std::string& path,
                                Device device) {
  const io::SafeTensors file = io::load_safetensors(path, device);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file.tensors) names.push_back(name);
  std::vector<Tensor> inputs;
  for (const Value& value : wanted) {
    const auto found = file.tensors.find(value.name);
    if (found == file.tensors.end())
      throw Error(TN_INVALID_ARGUMENT,
                  fmt::format("{} has no tensor '{}', the {} that the graph takes (it has: {})",
                              path, value.name, value.type(), fmt::join(names, ", ")));
    inputs.push_back(found->second);
  }
  return inputs;
}

void write_results(const std::vector<Tensor>& results, const std::string& path) {
  io::TensorMap named;
  for (size_t i = 0; i < results.size(); ++i) named[fmt::format("result{}", i)] = results[i];
  io::save_safetensors(path, named);
  for (size_t i = 0; i < results.size(); ++i) {
    const Value value{fmt::format("result{}", i),
                      results[i].dtype(),
                      {results[i].shape().begin(), results[i].shape().end()}};
    fmt::print("{}  {}\n", value.name, value.type());
  }
}

Tensor drawn(const Value& value) {
  const bool numbers = is_floating(value.dtype) || is_complex(value.dtype);
  if (numbers) return normal(value.shape, 0.0, 1.0, DType::F32).to(value.dtype);
  return full(value.shape, value.dtype == DType::Bool ? 1 : 0, value.dtype, Device("cpu"));
}

int time_runs(const std::string& name, const std::vector<Value>& inputs,
              const std::function<Runner(Device)>& runner, const po::variables_map& given) {
  const int rounds = given["rounds"].as<int>();
  if (rounds < 1) throw UsageError("--rounds must be at least 1");
  std::vector<Device> on;
  for (const std::string& id : given["device"].as<std::vector<std::string>>()) on.emplace_back(id);
  const auto prepare = [&](Device device) {
    const Runner run = runner(device);
    std::vector<Tensor> values;
    for (const Value& value : inputs) values.push_back(drawn(value).to(device));
    return [run, values] { return run(values).at(0); };
  };
  const std::vector<Work> works = {{name, "runs/s", 1, 1e-3, prepare}};
  const Report report{machine_name(), {}, measure(works, on, static_cast<uint32_t>(rounds))};
  if (given["json"].as<bool>())
    fmt::print("{}", json_of(report));
  else
    print_rows(report);
  for (const Measurement& m : report.rows[0].measurements)
    if (!m.agrees) return kFailed;
  return kOk;
}

}  // namespace tenon::tool
