#include "stage.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>

#include "../copy_known.hpp"
#include "card.hpp"

namespace tenon::conformance {
namespace {

namespace fs = std::filesystem;
using detail::copy_known;
std::atomic<int64_t> g_live_statuses{0};

tn_status* make_status(uint32_t code, tn_str message) {
  ++g_live_statuses;
  return tn_status_make(code, message);
}
void release_status(tn_status* status) {
  if (status != nullptr) --g_live_statuses;
  tn_status_release(status);
}

tn_status* refusal(const Stage& stage) {
  return stage.refuse_with == TN_OK
             ? nullptr
             : make_status(stage.refuse_with, detail::to_str("refused, to see what happens"));
}

tn_status* register_device_type(void* token, const tn_device_type* type) {
  auto& stage = *static_cast<Stage*>(token);
  if (stage.refuse_with != TN_OK) return refusal(stage);
  const tn_device_type given = copy_known(type);
  StagedType& staged = stage.types.emplace_back();
  staged.name = detail::to_view(given.name);
  staged.self = given.self;
  staged.device = copy_known(given.device);
  staged.memory = copy_known(given.memory);
  staged.stream = copy_known(given.stream);
  staged.has_streams = given.stream != nullptr;
  return nullptr;
}

tn_status* register_kernels(void* token, tn_str device, const tn_kernel* kernels, uint32_t count,
                            uint32_t stride) {
  auto& stage = *static_cast<Stage*>(token);
  if (stage.refuse_with != TN_OK) return refusal(stage);
  for (uint32_t i = 0; i < count; ++i) {
    const auto* at = reinterpret_cast<const tn_kernel*>(reinterpret_cast<const char*>(kernels) +
                                                        size_t{i} * stride);
    StagedKernel& staged = stage.kernels.emplace_back();
    staged.table = copy_known(at);
    staged.table.struct_size = at->struct_size;
    staged.schema = detail::to_view(staged.table.op);
    staged.device = detail::to_view(device);
  }
  return nullptr;
}

tn_status* register_op(void* token, const tn_op_def* op) {
  auto& stage = *static_cast<Stage*>(token);
  if (stage.refuse_with != TN_OK) return refusal(stage);
  StagedOp& staged = stage.ops.emplace_back();
  staged.table = copy_known(op);
  staged.schema = detail::to_view(staged.table.schema);
  return nullptr;
}

template <class Result, class... Args>
Result absent(Args...) {
  if constexpr (std::is_same_v<Result, tn_status*>)
    return make_status(TN_UNIMPLEMENTED, detail::to_str("there is no call to answer here"));
  else if constexpr (!std::is_void_v<Result>)
    return Result();
}
template <class Result, class... Args>
void fill(Result (*&slot)(Args...)) {
  if (slot == nullptr) slot = &absent<Result, Args...>;
}

tn_host make_host() {
  tn_host host{};
  host.struct_size = sizeof host;
  host.abi_major = TN_ABI_MAJOR;
  host.abi_minor = TN_ABI_MINOR;
  host.make_status = &make_status;
  host.status_code = &tn_status_code;
  host.status_message = &tn_status_message;
  host.status_release = &release_status;
  host.log = [](uint32_t, tn_str) {};
  host.register_device_type = &register_device_type;
  host.register_kernels = &register_kernels;
  host.register_op = &register_op;
  host.op_find = &tn_op_find;
  host.op_call = &tn_op_call;
  host.tensor_retain = &tn_tensor_retain;
  host.tensor_release = &tn_tensor_release;
  host.tensor_view = &tn_tensor_view;
  fill(host.make_output);
  fill(host.grad_output);
  fill(host.grad_saved_input);
  fill(host.grad_saved_output);
  fill(host.grad_arg);
  fill(host.grad_needed);
  fill(host.grad_set);
  fill(host.get_interface);
  host.op_call_into = &tn_op_call_into;
  fill(host.call_layer_push);
  fill(host.call_layer_pop);
  fill(host.backward_on_end);
  fill(host.plugin_interface);
  return host;
}

// Plugins keep the pointer, so a table lives as long as the process. A newer host's table has slots that nothing here knows.
const tn_host* host_of_size(uint32_t extra) {
  static const tn_host plain = make_host();
  if (extra == 0) return &plain;
  constexpr uint32_t kMost = 256;
  alignas(tn_host) static unsigned char bytes[sizeof(tn_host) + kMost];
  std::memset(bytes, 0x5a, sizeof bytes);
  auto* longer = reinterpret_cast<tn_host*>(bytes);
  *longer = plain;
  longer->struct_size = static_cast<uint32_t>(sizeof(tn_host) + std::min(extra, kMost));
  longer->abi_minor = TN_ABI_MINOR + 1;
  return longer;
}

}  // namespace

std::string text_of(tn_status* status) {
  if (status == nullptr) return {};
  constexpr const char* kCodes[] = {"OK",
                                    "INVALID_ARGUMENT",
                                    "OUT_OF_RANGE",
                                    "NOT_FOUND",
                                    "ALREADY_EXISTS",
                                    "UNIMPLEMENTED",
                                    "OUT_OF_MEMORY",
                                    "FAILED_PRECONDITION",
                                    "DEVICE_LOST",
                                    "IO",
                                    "DATA_LOSS",
                                    "INTERNAL",
                                    "CANCELLED"};
  const uint32_t code = tn_status_code(status);
  std::string text = (code < std::size(kCodes) ? kCodes[code] : "code " + std::to_string(code)) +
                     std::string(": ") + std::string(detail::to_view(tn_status_message(status)));
  release_status(status);
  return text;
}

Stage::Stage(const std::string& path) {
  const std::string library = fs::absolute(library_of(path)).string();
  directory_ = fs::path(library).parent_path().string();
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw Error(TN_IO, std::string("cannot be opened: ") + dlerror());
  query_ = reinterpret_cast<tn_plugin_query_fn>(dlsym(handle, "tn_plugin_query"));
  if (query_ == nullptr) throw Error(TN_INVALID_ARGUMENT, "does not export tn_plugin_query");
  const tn_plugin* given = nullptr;
  if (const std::string text = text_of(query_(TN_ABI_MAJOR, TN_ABI_MINOR, &given)); !text.empty())
    throw Error(TN_INVALID_ARGUMENT, "tn_plugin_query answered " + text);
  if (given == nullptr) throw Error(TN_INVALID_ARGUMENT, "tn_plugin_query gave no table");
  table_ = copy_known(given);
  if (table_.start == nullptr) throw Error(TN_INVALID_ARGUMENT, "the plugin has no start");
}

Stage::~Stage() {
  if (!started_) return;
  text_of(quiesce());
  stop();
}

tn_status* Stage::start(uint32_t extra) {
  types.clear();
  kernels.clear();
  ops.clear();
  tn_status* status = table_.start(host_of_size(extra), this, detail::to_str(directory_), &state_);
  started_ = status == nullptr;
  return status;
}

tn_status* Stage::quiesce() { return table_.quiesce == nullptr ? nullptr : table_.quiesce(state_); }

void Stage::stop() {
  if (table_.stop != nullptr && started_) table_.stop(state_);
  state_ = nullptr;
  started_ = false;
}

int64_t Stage::live_statuses() { return g_live_statuses.load(); }

}  // namespace tenon::conformance
