// Runs under the validating layer: every crossing is checked, memory is guarded, and allocations fail on request.
#include <functional>

#include "groups/groups.hpp"
#include "new_op.hpp"
#include "tenon/validate.h"

namespace tenon::conformance {
namespace {

// Before the process makes its first device.
void install_layer() {
  static const bool once = [] {
    detail::check(tn_layer_set(tn_validate_layer()));
    return true;
  }();
  static_cast<void>(once);
}

std::string first_violation() {
  std::string text;
  tn_validate_each(
      [](void* to, const tn_violation* violation) {
        auto& said = *static_cast<std::string*>(to);
        if (!said.empty()) return;
        said = std::string(detail::to_view(violation->slot)) + ": " +
               std::string(detail::to_view(violation->text));
        if (violation->count > 1) said += " (" + std::to_string(violation->count) + " times)";
      },
      &text);
  return text;
}

std::string blocks_alive(uint64_t since) {
  tn_validate_flush();
  struct Alive {
    uint64_t blocks = 0, bytes = 0;
    std::string op;
  } alive;
  tn_validate_each_block(
      since,
      [](void* to, const tn_live_block* block) {
        auto& all = *static_cast<Alive*>(to);
        ++all.blocks;
        all.bytes += block->bytes;
        if (all.op.empty()) all.op = detail::to_view(block->op);
      },
      &alive);
  return alive.blocks == 0 ? ""
                           : std::to_string(alive.blocks) + " blocks of " +
                                 std::to_string(alive.bytes) + " bytes were not given back" +
                                 (alive.op.empty() ? "" : ", the first of " + alive.op);
}

// ---- Faults

struct Work {
  std::string name;
  std::function<std::string()> run;  // empty if the results are right; throws Error
};

// For an op without samples: a made-up call, which must give the same result as at first.
Work made_up_work(const std::string& name, const Options& options) {
  const std::shared_ptr<Call> call = first_call(name, options);
  const bool repeats = call != nullptr && call->written().empty();
  const auto first = std::make_shared<std::vector<Array>>();
  return {name, [=]() -> std::string {
            if (!repeats) return {};
            NoGrad off;
            if (!first->empty())
              return repeat_differs(tn_op_find(detail::to_str(name)), *call, *first);
            for (const Tensor& result : call->run()) first->push_back(to_array(result));
            return {};
          }};
}

// A sample of an op, checked like its values.
Work sample_work(const std::string& name, const Options& options) {
  if (!has_samples(name)) return made_up_work(name, options);
  return {
      name, [name, options]() -> std::string {
        NoGrad off;
        for (const Sample* sample : table().of(name)) {
          for (uint32_t k = 0; k < TN_DTYPE_COUNT; ++k) {
            const auto dtype = static_cast<DType>((k + TN_DTYPE_F32) % TN_DTYPE_COUNT);
            if ((sample->dtypes & TN_MASK(static_cast<uint32_t>(dtype))) == 0) continue;
            const Case c{*sample, dtype, static_cast<uint32_t>(Layout::Contiguous), options.seed};
            Rng rng = c.rng();
            Args args;
            c.make(args, rng);
            const tn_op* op = tn_op_find(detail::to_str(name));
            return compare_results(c, args,
                                   Call(op, args, options.device, Layout::Contiguous, rng).run());
          }
        }
        return {};
      }};
}

// A network with a hidden layer: forward, loss, backward, step.
Work training_work(const Options& options) {
  return {"training step", [device = options.device]() -> std::string {
            const auto made = [&](int64_t rows, int64_t columns, float scale) {
              std::vector<float> values(static_cast<size_t>(rows * columns));
              for (size_t i = 0; i < values.size(); ++i)
                values[i] = scale * (static_cast<float>(i % 7) - 3);
              return tensor(values, {rows, columns}, TensorOptions(device));
            };
            Tensor w = made(8, 16, 0.1f), v = made(16, 4, 0.1f);
            w.requires_grad_();
            v.requires_grad_();
            const Tensor x = made(5, 8, 0.5f), y = made(5, 4, 0.2f);
            const auto loss_of = [&] {
              const Tensor d = matmul(relu(matmul(x, w)), v) - y;
              return mean(d * d);
            };
            const Tensor loss = loss_of();
            loss.backward();
            const double before = loss.cpu().item<float>();
            NoGrad off;
            w = w - w.grad() * 0.05;
            v = v - v.grad() * 0.05;
            const double after = loss_of().cpu().item<float>();
            return after < before ? "" : "the step does not lower the loss";
          }};
}

class Injector {
 public:
  explicit Injector(Device device) : type_(device.id().substr(0, device.id().find(':'))) {}
  // Counts the allocations that the work makes.
  uint64_t measure(const Work& work) {
    static_cast<void>(work.run());  // plans and caches are made once
    set(0, 0);
    static_cast<void>(work.run());
    return matched();
  }
  // Empty if the n-th failure (with `times` 0 also all later ones) did no harm.
  std::string try_at(const Work& work, uint64_t n, uint64_t times) {
    const uint64_t mark = tn_validate_next_serial();
    std::string problem;
    set(n, times);
    try {
      problem = work.run();
    } catch (const Error& error) {
      if (error.code() != TN_OUT_OF_MEMORY)
        problem = std::string("wanted out of memory or success, got: ") + error.what();
    }
    tn_validate_inject(nullptr);
    if (problem.empty()) problem = blocks_alive(mark);
    if (problem.empty())
      if (const std::string later = work.run(); !later.empty())
        problem = "afterwards, with memory again: " + later;
    if (problem.empty()) return {};
    return "allocation " + std::to_string(n) + (times == 0 ? " and all later ones" : "") +
           " refused: " + problem;
  }

 private:
  void set(uint64_t n, uint64_t times) const {
    const tn_fault fault{sizeof(tn_fault),
                         TN_OUT_OF_MEMORY,
                         detail::to_str(type_),
                         detail::to_str("memory.allocate"),
                         n,
                         times};
    tn_validate_inject(&fault);
  }
  static uint64_t matched() {
    uint64_t calls = 0, failed = 0;
    tn_validate_injected(&calls, &failed);
    tn_validate_inject(nullptr);
    return calls;
  }
  std::string type_;
};

constexpr const char* kTraining = "training step";

}  // namespace

std::vector<std::string> guard_units(const Claims& claims) { return claims.all_ops(); }

void run_guard(const Subject& subject, const std::string& unit, Sink& sink) {
  install_layer();
  const Options options = options_for(subject, true);
  const auto watched = [&](const std::function<std::string()>& work) -> std::string {
    static_cast<void>(work());  // plans and caches are made once
    tn_validate_clear();
    const uint64_t mark = tn_validate_next_serial(), held = tn_validate_references();
    const std::string failure = work();
    if (std::string text = first_violation(); !text.empty()) return text;
    if (const uint64_t now = tn_validate_references(); now != held)
      return std::to_string(now - held) + " references to tensors were taken and not released";
    if (std::string text = blocks_alive(mark); !text.empty()) return text;
    return failure.empty() ? "" : "under the layer: " + failure;
  };
  run_case(sink, unit, [&] {
    return watched([&]() -> std::string {
      const Report report = check_values(unit, options);
      return report.failures.empty() ? "" : report.failures.front();
    });
  });
  const tn_op* op = tn_op_find(detail::to_str(unit));
  if (has_samples(unit) || tn_op_is_differentiable(op) == 0) return;
  const auto call = first_call(unit, options);
  if (call == nullptr || !call->written().empty()) return;
  run_case(sink, unit + "/backward", [&] {
    return watched([&]() -> std::string {
      try {
        run_backward(*call);
      } catch (const Error& error) {
        if (error.code() != TN_UNIMPLEMENTED) return error.what();
      }
      return {};
    });
  });
}

std::vector<std::string> faults_units(const Claims& claims) {
  std::vector<std::string> units = claims.all_ops();
  if (!units.empty()) units.emplace_back(kTraining);
  return units;
}

void run_faults(const Subject& subject, const std::string& unit, Sink& sink) {
  install_layer();
  const Options options = options_for(subject, true);
  const Work work = unit == kTraining ? training_work(options) : sample_work(unit, options);
  Injector injector(options.device);
  uint64_t allocations = 0;
  run_case(sink, unit + "/undisturbed", [&]() -> std::string {
    allocations = injector.measure(work);
    return work.run();
  });
  for (uint64_t times : {1u, 0u})
    for (uint64_t n = 1; n <= allocations; ++n) {
      const std::string name =
          unit + "/allocation " + std::to_string(n) + (times == 0 ? " and later" : "");
      bool survived = false, ran = false;
      run_case(sink, name, [&] {
        ran = true;
        std::string problem = injector.try_at(work, n, times);
        survived = problem.empty();
        return problem;
      });
      if (!ran) continue;
      sink.count("injected", 1);
      sink.count("survived", survived ? 1 : 0);
    }
}

}  // namespace tenon::conformance
