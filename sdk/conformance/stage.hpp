// The suite's own host: it opens a plugin's library and drives its tables directly, without the core.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/plugin.h"
#include "tenon/tenon.hpp"

namespace tenon::conformance {

// What the plugin registered, as full-size copies; a slot it left out is NULL.
struct StagedType {
  std::string name;
  void* self = nullptr;
  tn_device_table device{};
  tn_memory_table memory{};
  tn_stream_table stream{};
  bool has_streams = false;
};
struct StagedKernel {
  std::string device, schema;
  tn_kernel table{};
};
struct StagedOp {
  std::string schema;
  tn_op_def table{};
};

class Stage {
 public:
  // Opens the library and calls its query. Throws Error.
  explicit Stage(const std::string& path);
  ~Stage();  // stops the plugin if it was started
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  tn_plugin_query_fn query() const { return query_; }
  const tn_plugin& table() const { return table_; }
  // The plugin's status, which the caller releases. `extra` bytes make the host's table that of a newer minor.
  tn_status* start(uint32_t extra = 0);
  tn_status* quiesce();
  void stop();

  std::vector<StagedType> types;
  std::vector<StagedKernel> kernels;
  std::vector<StagedOp> ops;
  // The code that register_* returns instead of accepting the table; 0 accepts it.
  uint32_t refuse_with = TN_OK;

  // Statuses made through host tables and not yet given back, of all stages.
  static int64_t live_statuses();

 private:
  tn_plugin_query_fn query_ = nullptr;
  tn_plugin table_{};
  void* state_ = nullptr;
  std::string directory_;
  bool started_ = false;
};

// "code: message" of a status that the caller owns; empty for NULL. Releases it.
std::string text_of(tn_status* status);
// A missing slot counts as one that returns TN_UNIMPLEMENTED.
template <class... Params, class... Args>
void call(tn_status* (*slot)(Params...), const char* name, Args... args) {
  if (slot == nullptr) throw Error(TN_UNIMPLEMENTED, std::string("the plugin has no ") + name);
  if (const std::string text = text_of(slot(static_cast<Params>(args)...)); !text.empty())
    throw Error(TN_INTERNAL, std::string(name) + " answered " + text);
}

}  // namespace tenon::conformance
