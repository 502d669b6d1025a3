#include "state.hpp"

#include <atomic>
#include <deque>
#include <set>
#include <unordered_set>

namespace tenon::validate {

const tn_host* g_host = nullptr;

namespace {

// A signal handler reads it, where allocating it lazily would not be safe.
__attribute__((tls_model("initial-exec"))) thread_local Crossing* t_crossing = nullptr;
thread_local uint32_t t_init = 0;

constexpr size_t kMostRecords = 1000;  // further violations are only counted

struct Record {
  uint32_t kind;
  std::string plugin, slot, op, text;
  uint64_t count;
};

struct Fault {
  bool set = false;
  uint32_t code = TN_OK;
  std::string device_type, slot;
  uint64_t nth = 0, times = 0, matched = 0, failed = 0;
};

struct State {
  std::mutex mutex;
  std::deque<Record> records;
  uint64_t total = 0;
  std::unordered_set<const tn_status*> statuses;
  std::multiset<const void*> running;
  Fault fault;
};
State& state() {
  static State& made = *new State;
  return made;
}

}  // namespace

std::mutex& state_mutex() { return state().mutex; }

Crossing::Crossing(std::string_view plugin_id, std::string_view slot_name, std::string_view op_name,
                   const void* about)
    : plugin(plugin_id), slot(slot_name), op(op_name), subject(about), outer(t_crossing) {
  t_crossing = this;
  if (subject == nullptr) return;
  const std::lock_guard lock(state().mutex);
  state().running.insert(subject);
}
Crossing::~Crossing() {
  t_crossing = outer;
  if (subject == nullptr) return;
  const std::lock_guard lock(state().mutex);
  state().running.erase(state().running.find(subject));
}

Crossing* current_crossing() { return t_crossing; }

std::string_view current_op() {
  for (const Crossing* at = t_crossing; at != nullptr; at = at->outer)
    if (!at->op.empty()) return at->op;
  return {};
}

bool is_running(const void* subject) {
  const std::lock_guard lock(state().mutex);
  return state().running.count(subject) != 0;
}

// ---- Violations

namespace {

struct Place {
  std::string_view plugin = "?", slot = "?", op;
};

Place place() {
  return t_crossing == nullptr ? Place()
                               : Place{t_crossing->plugin, t_crossing->slot, current_op()};
}

std::string headline(const Place& at, std::string_view text) {
  return fmt::format("{}plugin \"{}\", {}: {}", at.op.empty() ? "" : fmt::format("[{}] ", at.op),
                     at.plugin, at.slot, text);
}

}  // namespace

void found(uint32_t kind, const std::string& text) {
  const Place at = place();
  {
    const std::lock_guard lock(state().mutex);
    ++state().total;
    for (Record& record : state().records)
      if (record.kind == kind && record.plugin == at.plugin && record.slot == at.slot &&
          record.op == at.op && record.text == text) {
        ++record.count;
        return;
      }
    if (state().records.size() == kMostRecords) return;
    state().records.push_back(
        {kind, std::string(at.plugin), std::string(at.slot), std::string(at.op), text, 1});
  }
  g_host->log(3, to_str("validate: " + headline(at, text)));
}

tn_status* refused(uint32_t kind, const std::string& text) {
  found(kind, text);
  return g_host->make_status(TN_INTERNAL, to_str(headline(place(), text)));
}

// ---- Phases

void begin_phase() { ++t_init; }
void end_phase() {
  if (t_init > 0) --t_init;
}
bool in_init_phase() { return t_init > 0; }

// ---- Statuses

tn_status* handed_out(tn_status* status) {
  if (status == nullptr) return nullptr;
  const std::lock_guard lock(state().mutex);
  state().statuses.insert(status);
  return status;
}

bool take_back(tn_status* status) {
  const std::lock_guard lock(state().mutex);
  return state().statuses.erase(status) != 0;
}

tn_status* returned(tn_status* status) {
  if (status == nullptr || take_back(status)) return status;
  if (t_crossing != nullptr && t_crossing->plugin == "core") return status;
  return refused(TN_VIOLATION_RESULT,
                 fmt::format("returned {} as its status, which the host did not make (or which was "
                             "released); statuses come from host->make_status",
                             static_cast<void*>(status)));
}

// ---- Faults

tn_status* injected(std::string_view device_type, std::string_view slot) {
  uint32_t code = TN_OK;
  uint64_t nth = 0;
  {
    const std::lock_guard lock(state().mutex);
    Fault& fault = state().fault;
    if (!fault.set) return nullptr;
    if (fault.device_type.empty() ? device_type == "cpu" : device_type != fault.device_type)
      return nullptr;
    if (!fault.slot.empty() && slot != fault.slot) return nullptr;
    nth = ++fault.matched;
    if (fault.nth == 0 || nth < fault.nth) return nullptr;
    if (fault.times != 0 && nth >= fault.nth + fault.times) return nullptr;
    ++fault.failed;
    code = fault.code;
  }
  return g_host->make_status(
      code, to_str(fmt::format("fault injected into call {} of {} on {}", nth, slot, device_type)));
}

bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const size_t length = first < 0x80   ? 1
                          : first < 0xc2 ? 0
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                          : first < 0xf5 ? 4
                                         : 0;
    if (length == 0 || i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    const auto second = static_cast<unsigned char>(length > 1 ? text[i + 1] : 0);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
      return false;
    i += length;
  }
  return true;
}

}  // namespace tenon::validate

using namespace tenon::validate;

uint64_t tn_validate_count(void) {
  const std::lock_guard lock(state().mutex);
  return state().total;
}

void tn_validate_each(void (*visit)(void* ctx, const tn_violation* violation), void* ctx) {
  const std::lock_guard lock(state().mutex);
  for (const Record& record : state().records) {
    const tn_violation violation = {sizeof(tn_violation), record.kind,       to_str(record.plugin),
                                    to_str(record.slot),  to_str(record.op), to_str(record.text),
                                    record.count};
    visit(ctx, &violation);
  }
}

void tn_validate_clear(void) {
  const std::lock_guard lock(state().mutex);
  state().records.clear();
  state().total = 0;
}

void tn_validate_inject(const tn_fault* fault) {
  const std::lock_guard lock(state().mutex);
  state().fault = {};
  if (fault == nullptr) return;
  state().fault.set = true;
  state().fault.code = fault->code == TN_OK ? TN_INTERNAL : fault->code;
  state().fault.device_type = text_of(fault->device_type);
  state().fault.slot = text_of(fault->slot);
  state().fault.nth = fault->nth;
  state().fault.times = fault->times;
}

void tn_validate_injected(uint64_t* matched, uint64_t* failed) {
  const std::lock_guard lock(state().mutex);
  if (matched != nullptr) *matched = state().fault.matched;
  if (failed != nullptr) *failed = state().fault.failed;
}
