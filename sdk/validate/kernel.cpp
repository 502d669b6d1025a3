// Kernels behind the layer: checks that inputs are sound, outputs are written, and nothing else is.
#include <algorithm>
#include <deque>
#include <set>

#include "elements.hpp"
#include "layer.hpp"
#include "metadata.hpp"

namespace tenon::validate {
namespace {

constexpr uint64_t kLargestSum = 1 << 20;  // inputs up to this many bytes are compared before and
                                           // after
constexpr size_t kSuspects = 64;           // how many possibly unwritten elements get a second look

struct Argument {
  std::string name;
  bool written = false;
};

struct Kernel {
  std::string plugin, device, op;
  std::vector<Argument> arguments;
  tn_kernel given{};
  std::set<void*> plans;  // protected by the state's lock
};

// The names of a schema's arguments, and which of them the op writes: "Tensor![] params".
std::vector<Argument> arguments_of(std::string_view schema) {
  std::vector<Argument> found;
  const size_t open = schema.find('(');
  size_t from = open + 1;
  int depth = 0;
  for (size_t i = open; open != schema.npos && i < schema.size(); ++i) {
    const char c = schema[i];
    const bool ends = (c == ',' && depth == 1) || (c == ')' && depth == 1);
    if (c == '(' || c == '[') ++depth;
    if (ends && i > from) {
      std::string_view one = schema.substr(from, i - from);
      const std::string_view before = one.substr(0, one.find('='));
      const size_t space = before.find_last_of(' ');
      found.push_back({std::string(before.substr(space + 1)), before.find('!') != before.npos});
      from = i + 1;
    }
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && i > open) break;
  }
  return found;
}

Kernel& of(void* self) { return *static_cast<Kernel*>(self); }

std::string name_of(const Kernel& kernel, uint32_t argument) {
  return argument < kernel.arguments.size() ? kernel.arguments[argument].name
                                            : fmt::format("argument {}", argument);
}

// Calls a slot that may read the call and do nothing else.
template <class Slot>
tn_status* reading(const Kernel& kernel, const tn_call& call, Slot&& slot) {
  Metadata before(call, [&](uint32_t i) { return name_of(kernel, i); });
  tn_status* status = slot();
  const std::string written = before.restore();
  if (written.empty()) return status;
  g_host->status_release(status);
  return refused(TN_VIOLATION_MEMORY, written + "; metadata is the core's, and read only");
}

// One run: its operands and what is known of them before and after.
class Run {
 public:
  Run(Kernel& kernel, DeviceType& type, const tn_call& call)
      : kernel_(kernel), type_(type), call_(call) {}

  // A status if the call itself breaks the contract.
  tn_status* take() {
    if (call_.struct_size < sizeof(tn_call) || (call_.nargs != 0 && call_.args == nullptr) ||
        (call_.nouts != 0 && call_.outs == nullptr))
      return refused(TN_VIOLATION_ARGUMENT, "the call is too short, or has no args or outs");
    if (tn_status* status = type_.check_index(call_.device_index)) return status;
    for (uint32_t k = 0; k < call_.nouts; ++k)
      if (call_.outs[k] != nullptr)
        if (tn_status* status = add(*call_.outs[k], fmt::format("output {}", k), true))
          return status;
    noutputs_ = operands_.size();
    for (uint32_t i = 0; i < call_.nargs; ++i)
      if (tn_status* status = take_argument(i)) return status;
    return nullptr;
  }

  void before() {
    tell_guards_apart();
    for (size_t k = 0; k < operands_.size(); ++k) {
      Operand& operand = operands_[k];
      if (k < noutputs_ ? !overlaps_inputs(operand) : false) {
        Elements elements(type_, operand);
        operand.checked = elements.reachable() && elements.fill(kFresh);
      } else if (k >= noutputs_ && !operand.written && !overlaps_outputs(operand) &&
                 operand.span.size() <= kLargestSum) {
        const Elements elements(type_, operand);
        operand.checked = elements.reachable();
        if (operand.checked) operand.sum = elements.sum();
      }
    }
  }

  template <class Again>
  tn_status* after(Again&& again) {
    check_memory();
    tn_status* status = nullptr;
    for (size_t k = 0; k < noutputs_ && status == nullptr; ++k)
      if (operands_[k].checked) status = check_written(operands_[k], again);
    return status == nullptr ? problem_ : (release_problem(), status);
  }

 private:
  tn_status* take_argument(uint32_t i) {
    const tn_value& value = call_.args[i];
    const Argument* spec = i < kernel_.arguments.size() ? &kernel_.arguments[i] : nullptr;
    const std::string name = name_of(kernel_, i);
    const bool written = spec != nullptr && spec->written;
    if (value.tag == TN_VALUE_TENSOR || value.tag == TN_VALUE_TENSORS)
      return refused(TN_VIOLATION_ARGUMENT, fmt::format("{} is a tensor; kernels get views", name));
    if (value.tag == TN_VALUE_VIEW) {
      if (value.as.view == nullptr)
        return refused(TN_VIOLATION_ARGUMENT, fmt::format("{} is a NULL view", name));
      return add(*value.as.view, name, written);
    }
    if (value.tag != TN_VALUE_VIEWS) return nullptr;
    for (uint32_t e = 0; e < value.count; ++e)
      if (value.as.views[e] != nullptr)
        if (tn_status* status = add(*value.as.views[e], fmt::format("{}[{}]", name, e), written))
          return status;
    return nullptr;
  }

  tn_status* add(const tn_view& view, std::string what, bool written) {
    if (view.dtype >= TN_DTYPE_COUNT || view.ndim > TN_MAX_DIMS ||
        (view.ndim != 0 && (view.shape == nullptr || view.strides == nullptr)))
      return refused(TN_VIOLATION_ARGUMENT, fmt::format("{} has dtype {} and rank {}, or no shape",
                                                        what, view.dtype, view.ndim));
    for (uint32_t d = 0; d < view.ndim; ++d)
      if (view.shape[d] < 0)
        return refused(TN_VIOLATION_ARGUMENT, fmt::format("{} has a negative size", what));
    if ((view.flags & TN_VIEW_SCALAR) != 0) {
      if ((kernel_.given.flags & TN_KERNEL_HOST_SCALARS) == 0)
        return refused(TN_VIOLATION_ARGUMENT,
                       fmt::format("{} is a number, which this kernel does not take", what));
      return nullptr;
    }
    Operand operand;
    operand.view = &view;
    operand.what = std::move(what);
    operand.written = written;
    operand.span = span_of(view);
    if (written) type_.blocks->name(view.buffer, kernel_.op);
    operand.has_block = type_.blocks->find(view.buffer, operand.block);
    if (!operand.has_block && operand.span.size() != 0 && !type_.may_be_foreign(view.buffer))
      return refused(TN_VIOLATION_OWNERSHIP,
                     fmt::format("{} lies in buffer {}, which {}", operand.what, view.buffer,
                                 type_.blocks->is_gone(view.buffer) ? "was given back"
                                                                    : "is none that lives"));
    if (operand.has_block && operand.span.size() != 0 &&
        (operand.span.first < 0 || static_cast<uint64_t>(operand.span.last) > operand.block.bytes))
      return refused(TN_VIOLATION_ARGUMENT,
                     fmt::format("{} is bytes {} to {} of a block of {}", operand.what,
                                 operand.span.first, operand.span.last, operand.block.bytes));
    operands_.push_back(std::move(operand));
    return nullptr;
  }

  static bool share_bytes(const Operand& a, const Operand& b) {
    if (a.span.size() == 0 || b.span.size() == 0) return false;
    return a.view->buffer == b.view->buffer && a.span.meets(b.span);
  }
  bool overlaps_inputs(const Operand& output) const {
    return std::any_of(operands_.begin() + static_cast<std::ptrdiff_t>(noutputs_), operands_.end(),
                       [&](const Operand& input) { return share_bytes(output, input); });
  }
  bool overlaps_outputs(const Operand& input) const {
    return std::any_of(operands_.begin(), operands_.end(), [&](const Operand& other) {
      return other.written && share_bytes(input, other);
    });
  }

  // A guard copied over another shows only where the two differ, so the blocks being written get keys of their own.
  void tell_guards_apart() {
    std::set<uint8_t> taken;
    std::set<const void*> seen;
    const auto writes = [&](size_t k) { return k < noutputs_ || operands_[k].written; };
    for (size_t k = 0; k < operands_.size(); ++k)
      if (operands_[k].has_block && !writes(k)) taken.insert(operands_[k].block.key);
    for (size_t k = 0; k < operands_.size(); ++k) {
      Block& block = operands_[k].block;
      if (!operands_[k].has_block || !writes(k) || !seen.insert(block.shown).second) continue;
      uint8_t key = block.key;
      while (!taken.insert(key).second && taken.size() < kGuardKeys)
        key = static_cast<uint8_t>((key + 1) % kGuardKeys);
      if (key != block.key) type_.blocks->rekey(block, key);
    }
  }

  // The call returns the first violation found.
  void blame(const std::string& text) {
    tn_status* status = refused(TN_VIOLATION_MEMORY, text);
    if (problem_ == nullptr)
      problem_ = status;
    else
      g_host->status_release(status);
  }
  void release_problem() {
    g_host->status_release(problem_);
    problem_ = nullptr;
  }

  void check_memory() {
    std::set<const void*> seen;
    for (const Operand& operand : operands_) {
      Block block;  // as it is now
      if (operand.has_block && seen.insert(operand.block.shown).second &&
          type_.blocks->find(operand.block.shown, block)) {
        const uint64_t before = tn_validate_count();
        type_.blocks->check_guards(block);
        if (tn_validate_count() != before && problem_ == nullptr)
          problem_ = g_host->make_status(
              TN_INTERNAL,
              to_str(fmt::format("[{}] plugin \"{}\", kernel.run: memory outside of {} "
                                 "was written",
                                 kernel_.op, kernel_.plugin, operand.what)));
      }
    }
    for (size_t k = noutputs_; k < operands_.size(); ++k)
      if (operands_[k].checked && Elements(type_, operands_[k]).sum() != operands_[k].sum)
        blame(fmt::format("input {} was changed; a kernel writes its outputs only",
                          operands_[k].what));
  }

  // An element that looks fresh may hold the right value. It was not written only if it keeps a second filling as well.
  template <class Again>
  tn_status* check_written(const Operand& operand, Again&& again) {
    Elements elements(type_, operand);
    const std::vector<uint64_t> suspects = elements.holding(kFresh, kSuspects, nullptr);
    if (suspects.empty()) return nullptr;
    if (!elements.fill(kSecond)) return nullptr;
    if (tn_status* status = again()) return status;
    const std::vector<uint64_t> left = elements.holding(kSecond, kSuspects, &suspects);
    if (left.empty()) return nullptr;
    return refused(TN_VIOLATION_UNWRITTEN,
                   fmt::format("{}{} of {} elements of {} were not written, the first at {}",
                               left.size() == kSuspects ? "at least " : "", left.size(),
                               numel(*operand.view), operand.what, left.front()));
  }

  Kernel& kernel_;
  DeviceType& type_;
  const tn_call& call_;
  std::vector<Operand> operands_;  // outputs first
  size_t noutputs_ = 0;
  tn_status* problem_ = nullptr;
};

// A call whose tensors have the same metadata but different bytes elsewhere.
class Elsewhere {
 public:
  explicit Elsewhere(const tn_call& call) : call_(call) {
    outs_.reserve(call.nouts);
    for (uint32_t k = 0; k < call.nouts; ++k) outs_.push_back(moved(call.outs[k]));
    for (uint32_t i = 0; i < call.nargs; ++i) {
      tn_value& value = args_.emplace_back(call.args[i]);
      if (value.tag == TN_VALUE_VIEW) value.as.view = moved(value.as.view);
      if (value.tag != TN_VALUE_VIEWS) continue;
      auto& list = lists_.emplace_back();
      for (uint32_t e = 0; e < value.count; ++e) list.push_back(moved(value.as.views[e]));
      value.as.views = list.data();
    }
    call_.outs = outs_.data();
    call_.args = args_.data();
  }
  const tn_call* get() const { return &call_; }

 private:
  const tn_view* moved(const tn_view* view) {
    alignas(64) static unsigned char nowhere[4096];
    if (view == nullptr || (view->flags & TN_VIEW_SCALAR) != 0) return view;
    tn_view& copy = views_.emplace_back(*view);
    if (copy.data != nullptr) copy.data = nowhere + 1024;
    copy.buffer = nowhere;
    copy.offset = 1024;
    return &copy;
  }

  tn_call call_;
  std::deque<tn_view> views_;
  std::vector<const tn_view*> outs_;
  std::deque<std::vector<const tn_view*>> lists_;
  std::vector<tn_value> args_;
};

tn_status* no_call() { return refused(TN_VIOLATION_ARGUMENT, "the core gave a NULL call"); }

tn_status* supports(void* self, const tn_call* call, uint32_t* yes) {
  Kernel& kernel = of(self);
  const Crossing here(kernel.plugin, "kernel.supports", kernel.op);
  if (tn_status* fault = injected(kernel.device, "kernel.supports")) return fault;
  if (call == nullptr || yes == nullptr) return no_call();
  const auto ask = [&](const tn_call* about, uint32_t* answer) {
    return reading(kernel, *call, [&] {
      return cross([&] { return kernel.given.supports(kernel.given.self, about, answer); });
    });
  };
  if (tn_status* status = ask(call, yes)) return status;
  uint32_t again = 0;
  if (tn_status* status = ask(Elsewhere(*call).get(), &again)) return status;
  if (*yes > 1) {
    found(TN_VIOLATION_RESULT, fmt::format("yes is {}; it is 0 or 1", *yes));
    *yes = 1;
  } else if (*yes != again) {
    found(TN_VIOLATION_RESULT,
          fmt::format("said {} and then {} to a call of the same metadata; it must be pure", *yes,
                      again));
  }
  return nullptr;
}

tn_status* prepare(void* self, const tn_call* call, void** plan) {
  Kernel& kernel = of(self);
  const Crossing here(kernel.plugin, "kernel.prepare", kernel.op);
  if (tn_status* fault = injected(kernel.device, "kernel.prepare")) return fault;
  if (call == nullptr || plan == nullptr) return no_call();
  *plan = nullptr;
  tn_status* status = reading(kernel, *call, [&] {
    return cross([&] { return kernel.given.prepare(kernel.given.self, call, plan); });
  });
  if (status != nullptr || *plan == nullptr) return status;
  bool fresh = false;
  {
    const std::lock_guard lock(state_mutex());
    fresh = kernel.plans.insert(*plan).second;
  }
  return fresh ? nullptr
               : refused(TN_VIOLATION_OWNERSHIP,
                         fmt::format("plan {} was handed out before and not released", *plan));
}

uint64_t scratch_size(void* self, const tn_call* call, void* plan) {
  Kernel& kernel = of(self);
  const Crossing here(kernel.plugin, "kernel.scratch_size", kernel.op);
  uint64_t bytes = 0;
  cross_void([&] { bytes = kernel.given.scratch_size(kernel.given.self, call, plan); });
  if (bytes <= uint64_t{1} << 50) return bytes;
  found(TN_VIOLATION_RESULT, fmt::format("{} bytes of scratch memory", bytes));
  return 0;
}

tn_status* run(void* self, void* plan, const tn_call* call) {
  Kernel& kernel = of(self);
  const Crossing here(kernel.plugin, "kernel.run", kernel.op, call);
  if (tn_status* fault = injected(kernel.device, "kernel.run")) return fault;
  DeviceType* type = find_type(kernel.device);
  if (call == nullptr || type == nullptr) return no_call();
  Run checks(kernel, *type, *call);
  if (tn_status* status = checks.take()) return status;
  const DeviceType::Use use(*type, call->stream);
  if (!use.known())
    return g_host->make_status(TN_INTERNAL, to_str("the call's stream is none that lives"));
  checks.before();
  const auto once = [&] {
    return reading(kernel, *call, [&] {
      tn_status* status = cross([&] { return kernel.given.run(kernel.given.self, plan, call); });
      return status != nullptr ? status : type->wait(call->stream);
    });
  };
  tn_status* status = once();
  return status != nullptr ? status : checks.after(once);
}

void release(void* self, void* plan) {
  Kernel& kernel = of(self);
  const Crossing here(kernel.plugin, "kernel.release", kernel.op);
  bool known = plan == nullptr;
  {
    const std::lock_guard lock(state_mutex());
    known = known || kernel.plans.erase(plan) != 0;
  }
  if (!known) return found(TN_VIOLATION_OWNERSHIP, fmt::format("plan {} is none that lives", plan));
  cross_void([&] { kernel.given.release(kernel.given.self, plan); });
}

std::deque<Kernel>& kernels() {
  static auto& made = *new std::deque<Kernel>;
  return made;
}

}  // namespace

void wrap_kernel(std::string_view plugin, std::string_view device, tn_kernel& table) {
  const std::string_view schema = text_of(table.op);
  Kernel* kernel = nullptr;
  {
    const std::lock_guard lock(state_mutex());
    kernel = &kernels().emplace_back();
  }
  kernel->plugin = plugin;
  kernel->device = device;
  kernel->op = schema.substr(0, schema.find('('));
  kernel->arguments = arguments_of(schema);
  kernel->given = table;
  table.self = kernel;
  if (table.supports != nullptr) table.supports = supports;
  if (table.prepare != nullptr) table.prepare = prepare;
  if (table.scratch_size != nullptr) table.scratch_size = scratch_size;
  if (table.run != nullptr) table.run = run;
  if (table.release != nullptr) table.release = release;
}

}  // namespace tenon::validate
