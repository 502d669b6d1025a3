// The inputs and results of graphs and models on the command line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "command.hpp"
#include "tenon/tenon.hpp"

namespace tenon::tool {

struct Value {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;  // -1: any
  std::string type() const;    // "f32[8, 16]", "f32[?, 16]"
};

nlohmann::ordered_json to_json(const std::vector<Value>& values);
// Reads the inputs from a file of tensors, by name. Throws Error, which names what is missing.
std::vector<Tensor> read_inputs(const std::vector<Value>& inputs, const std::string& path,
                                Device device);
// Writes results as result0, result1 …, and prints their types.
void write_results(const std::vector<Tensor>& results, const std::string& path);
// Numbers that any graph accepts: 0 for possible indices, true for possible masks.
Tensor drawn(const Value& value);

// A function of tensors on a device.
using Runner = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
// Times runs with drawn inputs, in turn on the devices of --device, in --rounds rounds; prints a table or, with --json, JSON. Returns the
// exit status.
int time_runs(const std::string& name, const std::vector<Value>& inputs,
              const std::function<Runner(Device)>& runner, const po::variables_map& given);

}  // namespace tenon::tool
