// Checks that `supports` tells the truth. No false yes: what a kernel accepts, it computes right. No false no: it takes at least one sample
// of each dtype that it claims. Pure: the answer does not depend on data or on the order of calls.
#include <algorithm>
#include <map>

#include "bridge.hpp"
#include "groups/groups.hpp"
#include "runner.hpp"

namespace tenon::conformance {
namespace {

// Records who ran the outermost call of an op on this thread.
class Probe {
 public:
  explicit Probe(const tn_op* op) : op_(op) {
    hooks_.struct_size = sizeof hooks_;
    hooks_.ctx = this;
    hooks_.after = [](void* ctx, const tn_op* called, const tn_value*, uint32_t, tn_tensor* const*,
                      uint32_t, tn_str provider) {
      auto& probe = *static_cast<Probe*>(ctx);
      if (called == probe.op_) probe.provider_ = detail::to_view(provider);
    };
    tn_call_hooks_set(&hooks_);
  }
  ~Probe() { tn_call_hooks_set(nullptr); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  const std::string& provider() const { return provider_; }

 private:
  const tn_op* op_;
  tn_call_hooks hooks_{};
  std::string provider_;
};

struct Answer {
  std::string provider;
  std::string metadata;  // shapes, dtypes, strides and attributes of the arguments
};

std::string describe(const Args& args) {
  std::string text;
  const auto add = [&](const Array& array) {
    text += std::string(name_of(array.dtype)) + "(";
    for (int64_t size : array.shape) text += std::to_string(size) + ",";
    text += ")";
  };
  for (const Arg& arg : args) {
    std::visit(
        [&]<class T>(const T& given) {
          if constexpr (std::is_same_v<T, Array>) {
            add(given);
          } else if constexpr (std::is_same_v<T, std::vector<Array>>) {
            for (const Array& each : given) add(each);
          } else if constexpr (std::is_same_v<T, Number>) {
            text += std::to_string(given.real);
          } else if constexpr (std::is_same_v<T, std::string>) {
            text += given;
          } else if constexpr (std::is_same_v<T, Shape>) {
            for (int64_t each : given) text += std::to_string(each) + ",";
          } else if constexpr (std::is_arithmetic_v<T>) {
            text += std::to_string(given);
          }
        },
        arg);
    text += ';';
  }
  return text;
}

class Asker {
 public:
  Asker(std::string id, const tn_op* op, Device device)
      : id_(std::move(id)), op_(op), device_(device) {}

  // Runs one case. Throws what is wrong with a result of the plugin's kernel.
  Answer ask(const Case& c, bool compare) const {
    Rng rng = c.rng();
    Args args;
    Answer answer;
    if (!c.make(args, rng)) return answer;
    answer.metadata = describe(args);
    NoGrad off;
    const Call call(op_, args, device_, static_cast<Layout>(c.layout), rng);
    for (const Tensor& x : call.tensors())
      for (const int64_t stride : x.strides()) answer.metadata += std::to_string(stride) + ',';
    std::vector<Tensor> results;
    {
      const Probe probe(op_);
      results = call.run();
      answer.provider = probe.provider();
    }
    if (compare && answer.provider == id_)
      if (const std::string problem = compare_results(c, args, results); !problem.empty())
        throw Error(TN_INTERNAL, "a kernel took " + c.name() + " and got it wrong: " + problem);
    return answer;
  }

 private:
  std::string id_;
  const tn_op* op_;
  Device device_;
};

std::string changed(const Case& c, const Answer& first, const Answer& second, const char* when) {
  if (first.metadata != second.metadata || first.provider == second.provider) return {};
  return c.name() + " was run by \"" + first.provider + "\" at first and by \"" + second.provider +
         "\" " + when + ": `supports` must depend on metadata alone";
}

// Empty if all is well; `reached` counts the samples that the plugin's kernel took.
std::string check_dtype(const Asker& asker, const std::vector<Case>& cases, const std::string& id,
                        size_t& reached, std::map<std::string, size_t>& others) {
  std::vector<Answer> answers;
  for (const Case& c : cases) {
    answers.push_back(asker.ask(c, true));
    if (answers.back().provider == id)
      ++reached;
    else
      ++others[answers.back().provider];
  }
  for (size_t i = cases.size(); i-- > 0;) {
    Case other = cases[i];
    if (auto text = changed(other, answers[i], asker.ask(other, false), "when asked again");
        !text.empty())
      return text;
    other.seed += 7919;
    if (auto text = changed(other, answers[i], asker.ask(other, false), "with other data");
        !text.empty())
      return text;
  }
  return {};
}

std::string no_sample_taken(const std::map<std::string, size_t>& others, size_t asked) {
  std::string text = "the kernel claims this dtype, but took none of " + std::to_string(asked) +
                     " samples; they went to";
  for (const auto& [name, count] : others)
    text += " \"" + name + "\" (" + std::to_string(count) + ")";
  return text;
}

}  // namespace

std::vector<std::string> support_units(const Claims& claims) { return claims.ops; }

void run_support(const Subject& given, const std::string& unit, Sink& sink) {
  Subject subject = given;
  load_subject(subject);
  const Device device(subject.device);
  const tn_op* op = nullptr;
  detail::check(tn_op_require(detail::to_str(unit), &op));
  const Asker asker(subject.id, op, device);
  for (uint32_t code = 0; code < TN_DTYPE_COUNT; ++code) {
    const auto dtype = static_cast<DType>(code);
    if (!claims_kernel(subject.id, op, device, dtype)) continue;
    const std::string name = unit + "/" + std::string(name_of(dtype));
    std::vector<Case> cases;
    for (const Sample* sample : table().of(unit))
      if ((sample->dtypes & TN_MASK(code)) != 0)
        for (Layout layout : {Layout::Contiguous, Layout::Mixed})
          if (layout == Layout::Contiguous || sample->layouts)
            cases.push_back({*sample, dtype, static_cast<uint32_t>(layout), subject.seed});
    if (cases.empty()) {
      sink.skip(name, "claimed, but the suite has no sample of that op in that dtype");
      continue;
    }
    size_t reached = 0;
    std::map<std::string, size_t> others;
    bool shadowed = false;
    run_case(sink, name, [&]() -> std::string {
      if (auto text = check_dtype(asker, cases, subject.id, reached, others); !text.empty())
        return text;
      // Another plugin's kernel may have a higher priority; its answer does not count.
      shadowed = detail::to_view(tn_op_provider(op, device.get(), code)) != subject.id;
      return reached > 0 || shadowed ? "" : no_sample_taken(others, cases.size());
    });
    if (reached == 0 && shadowed)
      sink.skip(name, "a kernel of another plugin comes first and took every sample");
  }
}

}  // namespace tenon::conformance
