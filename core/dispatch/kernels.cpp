// Kernels by op, device type and dtype. Tables are immutable once published, so that a call reads
// them without a lock.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>

#include "dispatch/disabled.hpp"
#include "dispatch/op.hpp"
#include "dispatch/plan_cache.hpp"
#include "dispatch/record.hpp"
#include "forever.hpp"
#include "memory/forking.hpp"
#include "status.hpp"
#include "tensor/tensor.hpp"

namespace tenon::core {
namespace {

struct Store {
  Mutex mutex;
  std::deque<KernelEntry> entries;  // stable addresses, kept for good
  std::vector<DisabledKernel> disabled;
  // Old tables are kept, because a running call may still read one.
  std::deque<std::unique_ptr<const KernelTable>> tables;
  uint64_t next_serial = 1;
};

const tn_op& check_kernel(std::string_view plugin, const tn_kernel& kernel) {
  std::string_view text = to_view(kernel.op);
  const std::string_view name = name_in(text);
  const tn_op* op = find_op(name);
  if (op == nullptr) fail(TN_NOT_FOUND, "plugin '{}': kernel for unknown op '{}'", plugin, name);
  if (text != op->schema.text)
    fail(TN_INVALID_ARGUMENT, "plugin '{}': kernel for '{}', but this core has '{}'", plugin, text,
         op->schema.text);
  if (kernel.run == nullptr)
    fail(TN_INVALID_ARGUMENT, "plugin '{}': kernel for '{}' has no run", plugin, name);
  if ((kernel.prepare == nullptr) != (kernel.release == nullptr))
    fail(TN_INVALID_ARGUMENT, "plugin '{}': kernel for '{}' needs both prepare and release", plugin,
         name);
  return *op;
}

void insert(KernelTable& table, const KernelEntry& entry) {
  for (tn_dtype dtype = 0; dtype < TN_DTYPE_COUNT; ++dtype) {
    if ((entry.table.dtypes & TN_MASK(dtype)) == 0) continue;
    auto& list = table[dtype];
    auto better = [&](const KernelEntry* other) {
      return other->table.priority < entry.table.priority;
    };
    list.insert(std::find_if(list.begin(), list.end(), better), &entry);
  }
}

void publish(Store& s, const tn_op& op, uint32_t type, std::unique_ptr<const KernelTable> table) {
  g_epoch.fetch_add(1);
  const_cast<tn_op&>(op).kernels[type].store(table.get(), std::memory_order_release);
  s.tables.push_back(std::move(table));
}

std::unique_ptr<KernelTable> copy_table(const tn_op& op, uint32_t type) {
  const KernelTable* current = op.kernels[type].load(std::memory_order_acquire);
  return current == nullptr ? std::make_unique<KernelTable>()
                            : std::make_unique<KernelTable>(*current);
}

}  // namespace

const tn_dispatch g_dispatch_table = {
    sizeof(tn_dispatch),
    0,
    tn_op_count,
    tn_op_at,
    tn_op_schema,
    [](const tn_op* op) -> uint32_t { return op->decompose != nullptr ? 1 : 0; },
    [](const tn_op* op, const tn_device* device, tn_dtype dtype, uint32_t index) {
      const auto list = candidates(*op, *device, dtype);
      return index < list.size() ? &list[index]->table : nullptr;
    },
    [] { return g_epoch.load(); },
    [](const tn_tensor* of, int64_t size, tn_tensor** out) {
      const int64_t step = 1;
      return guarded([&] { *out = make_view(*of, {&size, 1}, {&step, 1}, 0); });
    },
    [](tn_tensor* t) -> uint32_t { return bump_version(*t), t->storage->read_only == 0; },
    [](tn_tensor* alias, tn_tensor* leaf) {
      return guarded([&] { share_gradient(*alias, *leaf); });
    }};

void register_kernels(std::string_view plugin_id, std::string_view device_type,
                      std::span<const tn_kernel> kernels) {
  const DeviceType* type = find_device_type(device_type);
  if (type == nullptr)
    fail(TN_NOT_FOUND, "plugin '{}': kernels for unknown device type '{}'", plugin_id, device_type);
  std::vector<const tn_op*> ops;
  for (const tn_kernel& kernel : kernels) ops.push_back(&check_kernel(plugin_id, kernel));

  // From here on registration cannot fail.
  auto& s = forever<Store>();
  std::lock_guard lock(s.mutex);
  std::map<const tn_op*, std::unique_ptr<KernelTable>> changed;
  for (size_t i = 0; i < kernels.size(); ++i) {
    s.entries.push_back({kernels[i], std::string(plugin_id), s.next_serial++});
    s.entries.back().table.op = to_str(ops[i]->schema.text);  // the caller may free its text
    if (is_disabled(plugin_id, ops[i]->name())) {
      s.disabled.push_back({ops[i], type->id, &s.entries.back()});
      continue;
    }
    auto& table = changed[ops[i]];
    if (table == nullptr) table = copy_table(*ops[i], type->id);
    insert(*table, s.entries.back());
  }
  for (auto& [op, table] : changed) publish(s, *op, type->id, std::move(table));
}

void unregister_kernels(std::string_view plugin_id) {
  auto& s = forever<Store>();
  {
    std::lock_guard lock(s.mutex);
    for (const tn_op* op : all_ops())
      for (uint32_t type = 0; type < kMaxDeviceTypes; ++type) {
        if (op->kernels[type].load(std::memory_order_acquire) == nullptr) continue;
        auto table = copy_table(*op, type);
        size_t removed = 0;
        for (auto& list : *table)
          removed +=
              std::erase_if(list, [&](const KernelEntry* e) { return e->plugin == plugin_id; });
        if (removed != 0) publish(s, *op, type, std::move(table));
      }
    std::erase_if(s.disabled, [&](const auto& one) { return one.kernel->plugin == plugin_id; });
  }
  drop_plans(plugin_id);
}

std::vector<std::pair<const tn_op*, const KernelEntry*>> kernels_in_service() {
  std::vector<std::pair<const tn_op*, const KernelEntry*>> found;
  for (const tn_op* op : all_ops())
    for (const auto& slot : op->kernels)
      if (const KernelTable* table = slot.load(std::memory_order_acquire))
        for (const auto& list : *table)
          for (const KernelEntry* entry : list) found.emplace_back(op, entry);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

uint32_t count_kernels(std::string_view plugin_id) {
  return static_cast<uint32_t>(std::ranges::count_if(
      kernels_in_service(), [&](const auto& one) { return one.second->plugin == plugin_id; }));
}

std::vector<DisabledKernel> disabled_kernels() {
  auto& s = forever<Store>();
  const std::lock_guard lock(s.mutex);
  return s.disabled;
}

}  // namespace tenon::core
