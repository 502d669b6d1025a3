#include "status.hpp"

#include <cstring>

#include "boundary.hpp"
#include "tenon/op.h"

struct tn_status {
  uint32_t code;
  std::string message;
};

namespace tenon::core {
namespace {
// Returned when not even a status can be allocated; never freed.
tn_status* out_of_memory() {
  static tn_status status{TN_OUT_OF_MEMORY, "out of host memory"};
  return &status;
}
}  // namespace

tn_status* make_status(uint32_t code, std::string_view message) noexcept {
  try {
    return new tn_status{code == TN_OK ? TN_INTERNAL : code, std::string(message)};
  } catch (...) {
    return out_of_memory();
  }
}

tn_status* status_of_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return make_status(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    return make_status(TN_INTERNAL, error.what());
  } catch (...) {
    return make_status(TN_INTERNAL, "unknown exception");
  }
}

bool names_op(std::string_view message) noexcept {
  const size_t end = message.find(']');
  if (!message.starts_with('[') || end == message.npos) return false;
  const std::string_view name = message.substr(1, end - 1);
  return name == "graph" || tn_op_find(to_str(name)) != nullptr;
}

tn_status* null_argument(const char* function, std::string_view names, size_t index) noexcept {
  for (; index > 0; --index) names.remove_prefix(names.find(", ") + 2);
  names = names.substr(0, names.find(','));
  return guarded([&] { fail(TN_INVALID_ARGUMENT, "[{}] '{}' is NULL", function, names); });
}

}  // namespace tenon::core

using namespace tenon::core;

tn_status* tn_status_make(uint32_t code, tn_str message) {
  return make_status(code, text_of(message));
}
uint32_t tn_status_code(const tn_status* status) {
  return status == nullptr ? TN_OK : status->code;
}
tn_str tn_status_message(const tn_status* status) {
  return status == nullptr ? tn_str{"", 0} : to_str(status->message);
}
void tn_status_release(tn_status* status) {
  if (status != out_of_memory()) delete status;
}
void tn_version(uint32_t* abi_major, uint32_t* abi_minor, tn_str* version) {
  if (abi_major != nullptr) *abi_major = TN_ABI_MAJOR;
  if (abi_minor != nullptr) *abi_minor = TN_ABI_MINOR;
  if (version != nullptr) *version = to_str(TN_VERSION_STRING);
}
