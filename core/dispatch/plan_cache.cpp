#include "dispatch/plan_cache.hpp"

#include <list>
#include <string>
#include <unordered_map>

#include "forever.hpp"
#include "memory/forking.hpp"
#include "status.hpp"

namespace tenon::core {
namespace {

constexpr size_t kKeep = 1024;  // plans; the least recently used one goes first

// Everything a plan may depend on, as bytes: dtypes, shapes, strides and attributes, no addresses.
class KeyBuilder {
 public:
  KeyBuilder(const KernelEntry& kernel, const tn_call& call) {
    put(kernel.serial);
    put(call.device_index);
    for (uint32_t i = 0; i < call.nargs; ++i) put_value(call.args[i]);
    for (uint32_t k = 0; k < call.nouts; ++k) put_view(call.outs[k]);
  }
  std::string_view text() const { return {key_.data(), key_.size()}; }

 private:
  template <class T>
  void put(const T& value) {
    put_bytes(&value, sizeof(value));
  }
  void put_bytes(const void* data, size_t size) {
    key_.append(static_cast<const char*>(data), size);
  }
  void put_view(const tn_view* view) {
    put(view == nullptr ? UINT32_MAX : view->dtype);
    if (view == nullptr) return;
    put(view->ndim);
    put_bytes(view->shape, view->ndim * sizeof(int64_t));
    put_bytes(view->strides, view->ndim * sizeof(int64_t));
  }
  void put_value(const tn_value& value) {
    put(value.tag);
    switch (value.tag) {
      case TN_VALUE_NONE:
        return;
      case TN_VALUE_VIEW:
        return put_view(value.as.view);
      case TN_VALUE_VIEWS:
        put(value.count);
        for (uint32_t i = 0; i < value.count; ++i) put_view(value.as.views[i]);
        return;
      case TN_VALUE_STR:
        put(value.count);
        return put_bytes(value.as.str, value.count);
      case TN_VALUE_INTS:
      case TN_VALUE_FLOATS:
        put(value.count);
        return put_bytes(value.as.ints, value.count * sizeof(int64_t));
      case TN_VALUE_COMPLEX:
        return put_bytes(value.as.floats, 2 * sizeof(double));
      default:
        return put(value.as.i);
    }
  }
  std::string key_;
};

struct Cache {
  struct Slot {
    std::string key;
    std::shared_ptr<Plan> plan;
  };
  Mutex mutex;
  std::list<Slot> recent;  // most recently used first
  std::unordered_map<std::string_view, std::list<Slot>::iterator> by_key;
};

std::shared_ptr<Plan> look_up(Cache& c, std::string_view key) {
  std::lock_guard lock(c.mutex);
  auto found = c.by_key.find(key);
  if (found == c.by_key.end()) return nullptr;
  c.recent.splice(c.recent.begin(), c.recent, found->second);
  return found->second->plan;
}

}  // namespace

std::shared_ptr<Plan> find_plan(const KernelEntry& kernel, const tn_call& call) {
  auto& c = forever<Cache>();
  KeyBuilder key(kernel, call);
  if (auto plan = look_up(c, key.text())) return plan;

  auto plan = std::make_shared<Plan>();
  check(kernel.table.prepare(kernel.table.self, &call, &plan->handle));
  plan->kernel = &kernel;
  std::shared_ptr<Plan> evicted;  // released outside the lock
  std::lock_guard lock(c.mutex);
  if (c.by_key.contains(key.text())) return plan;  // another thread inserted it first
  c.recent.push_front({std::string(key.text()), plan});
  c.by_key.emplace(c.recent.front().key, c.recent.begin());
  if (c.recent.size() > kKeep) {
    evicted = std::move(c.recent.back().plan);
    c.by_key.erase(c.recent.back().key);
    c.recent.pop_back();
  }
  return plan;
}

void drop_plans(std::string_view plugin_id) {
  auto& c = forever<Cache>();
  std::list<Cache::Slot> dropped;
  std::lock_guard lock(c.mutex);
  for (auto at = c.recent.begin(); at != c.recent.end();) {
    auto slot = at++;
    if (slot->plan->kernel->plugin != plugin_id) continue;
    c.by_key.erase(slot->key);
    dropped.splice(dropped.end(), c.recent, slot);
  }
}

}  // namespace tenon::core
