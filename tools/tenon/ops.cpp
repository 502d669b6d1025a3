// tenon ops and tenon explain: which ops exist, and what would run them.
#include <fmt/core.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "tenon/tenon.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::ordered_json;
using detail::to_view;

tn_dtype find_dtype(const std::string& name) {
  tn_dtype dtype = 0;
  detail::check(tn_dtype_find(detail::to_str(name), &dtype));
  return dtype;
}

// The requested dtype. By default f32, or for ops of other operands (bitwise_and, where) the first that has a provider.
tn_dtype dtype_for(const po::variables_map& given, const tn_op* op, const Device& device) {
  if (given.contains("dtype")) return find_dtype(given["dtype"].as<std::string>());
  for (uint32_t step = 0; step < TN_DTYPE_COUNT; ++step) {
    const tn_dtype dtype = (TN_DTYPE_F32 + step) % TN_DTYPE_COUNT;
    if (tn_op_provider(op, device.get(), dtype).size != 0) return dtype;
  }
  return TN_DTYPE_F32;
}

int run_ops(const po::variables_map& given) {
  if (given.contains("dtype"))
    find_dtype(given["dtype"].as<std::string>());  // an unknown one is an error
  std::vector<Device> found = devices();
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows = {{"OP", "GRADIENT"}};
  for (const Device& device : found) rows[0].emplace_back(device.id());
  for (uint32_t i = 0; i < tn_op_count(); ++i) {
    const tn_op* op = tn_op_at(i);
    bool differentiable = tn_op_is_differentiable(op) != 0;
    Json providers = Json::object();
    std::vector<std::string> row = {std::string(to_view(tn_op_name(op))),
                                    differentiable ? "yes" : "no"};
    for (const Device& device : found) {
      std::string provider(to_view(tn_op_provider(op, device.get(), dtype_for(given, op, device))));
      providers[std::string(device.id())] = provider;
      row.push_back(provider.empty() ? "-" : provider);
    }
    list.push_back({{"name", row[0]},
                    {"schema", to_view(tn_op_schema(op))},
                    {"differentiable", differentiable},
                    {"providers", providers}});
    rows.push_back(std::move(row));
  }
  if (given["json"].as<bool>())
    std::cout << list.dump(2) << '\n';
  else
    print_table(rows);
  return kOk;
}

int run_explain(const po::variables_map& given) {
  if (!given.contains("op"))
    throw UsageError("explain needs an op, as in: tenon explain softmax --device cpu");
  const tn_op* op = nullptr;
  detail::check(tn_op_require(detail::to_str(given["op"].as<std::string>()), &op));
  Device device(given["device"].as<std::string>());
  std::string text;
  detail::check(
      tn_op_explain(op, device.get(), dtype_for(given, op, device), &detail::append_text, &text));
  fmt::print("{}", text);
  return kOk;
}

}  // namespace

Command ops_command() {
  Command command{"ops",
                  "list every op and the backends that have a kernel for it",
                  "  tenon ops\n  tenon ops --dtype bf16\n  tenon ops --json\n",
                  {},
                  {},
                  &run_ops};
  command.options.add_options()("help,h", "show this help")(
      "dtype", po::value<std::string>(),
      "dtype of the first operand; default: f32, or what the op takes")(
      "json", po::bool_switch(), "print JSON: name, schema, differentiable, providers");
  return command;
}

Command explain_command() {
  Command command{"explain",
                  "show which kernel would run an op on a device, and why",
                  "  tenon explain softmax\n  tenon explain conv --device cpu --dtype bf16\n",
                  {},
                  {},
                  &run_explain};
  command.options.add_options()("help,h", "show this help")("op", po::value<std::string>(),
                                                            "the op's name")(
      "device", po::value<std::string>()->default_value("cpu"), "a device: cpu, cpu:0, auto")(
      "dtype", po::value<std::string>(),
      "dtype of the first operand; default: f32, or what the op takes");
  command.positional.add("op", 1);
  return command;
}

}  // namespace tenon::tool
