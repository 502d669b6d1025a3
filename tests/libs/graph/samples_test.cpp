// Every sample of the conformance suite as a program: the same bits as the eager call, from contiguous and from transposed operands, alone
// and fused with a neighbour (for the elementwise ops of elementwise.hpp, which is made from their records).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bridge.hpp"
#include "elementwise.hpp"
#include "runner.hpp"
#include "tenon/graph.hpp"
#include "tenon/ops.hpp"

namespace {

using namespace tenon;
using namespace tenon::conformance;

std::vector<char> bytes_of(const Tensor& x) {
  std::vector<char> bytes(x.nbytes());
  x.contiguous().to_host(bytes.data(), bytes.size());
  return bytes;
}

std::vector<int64_t> reversed(const Tensor& x) {
  std::vector<int64_t> dims(static_cast<size_t>(x.ndim()));
  for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(dims.size() - 1 - d);
  return dims;
}

// The call as a function of its inputs; the dimensions of those that `turned` marks are reversed.
class Subject {
 public:
  Subject(const Call& call, bool turned, bool neighbour)
      : call_(call), turned_(turned), neighbour_(neighbour) {
    for (const Tensor& x : call.tensors()) {
      const Tensor plain = x.contiguous();
      inputs_.push_back(turned ? plain.permute(reversed(plain)).contiguous() : plain);
      const auto same = [&](const Tensor& other) { return other.get() == x.get(); };
      written_.push_back(std::ranges::any_of(call.written(), same));
    }
  }
  const std::vector<Tensor>& inputs() const { return inputs_; }

  // Copies of the results, then of what was written.
  std::vector<Tensor> operator()(std::span<const Tensor> inputs) const {
    std::vector<Tensor> operands, copies;
    for (size_t i = 0; i < inputs.size(); ++i) {
      operands.push_back(turned_ ? inputs[i].permute(reversed(inputs[i])) : inputs[i]);
      if (!written_[i]) continue;
      operands.back() = operands.back().contiguous().clone();
      copies.push_back(operands.back());
    }
    std::vector<Tensor> results = call_.run(operands);
    results.insert(results.end(), copies.begin(), copies.end());
    if (!neighbour_) return results;
    for (size_t k = 0, n = results.size(); k < n; ++k)
      if (!is_float8(results[k].dtype())) results.push_back(equal(results[k], results[k]));
    return results;
  }

 private:
  const Call& call_;
  bool turned_, neighbour_;
  std::vector<Tensor> inputs_;
  std::vector<bool> written_;
};

// Ops whose results' shapes depend on elements.
bool is_dynamic(const std::string& op) {
  return op == "nonzero" || op == "masked_select" || op == "unique";
}

std::string compare(const Subject& subject, const std::string& op, size_t& fused) {
  const NoGrad no_grad;
  manual_seed(5);
  const std::vector<Tensor> wanted = subject(subject.inputs());
  graph::Program program;
  try {
    program = graph::trace(subject.inputs(), subject);
  } catch (const Error& error) {
    if (is_dynamic(op) && error.code() == TN_FAILED_PRECONDITION) return {};
    return std::string("trace: ") + error.what();
  }
  if (is_dynamic(op) && std::ranges::any_of(wanted, [](const Tensor& x) { return x.numel() != 0; }))
    return "a result of unknown shape was traced";
  fused += program.info().fused;
  for (int run = 0; run < 2; ++run) {
    manual_seed(5);
    const std::vector<Tensor> found = program(subject.inputs());
    for (size_t k = 0; k < wanted.size(); ++k)
      if (found[k].dtype() != wanted[k].dtype() ||
          !std::ranges::equal(found[k].shape(), wanted[k].shape()) ||
          bytes_of(found[k]) != bytes_of(wanted[k]))
        return "result " + std::to_string(k) + " of run " + std::to_string(run) + " differs\n" +
               program.text(true);
  }
  return {};
}

class Samples : public testing::TestWithParam<std::string> {};

TEST_P(Samples, AreTheSameBits) {
  const std::string& name = GetParam();
  const tn_op* op = nullptr;
  detail::check(tn_op_require(detail::to_str(name), &op));
  size_t fused = 0;
  for (const Sample* sample : table().of(name))
    for (uint32_t code = 0; code < TN_DTYPE_COUNT; ++code) {
      if ((sample->dtypes & TN_MASK(code)) == 0) continue;
      const auto dtype = static_cast<DType>(code);
      Rng rng(1);
      const Call call(op, sample->make(dtype, rng), Device("cpu"), Layout::Contiguous, rng);
      for (const bool turned : {false, true})
        for (const bool neighbour : {false, true}) {
          std::string problem;
          try {
            problem = compare(Subject(call, turned, neighbour), name, fused);
          } catch (const Error& error) {
            problem = error.what();
          }
          EXPECT_EQ(problem, "") << name << " " << sample->label << " " << name_of(dtype)
                                 << (turned ? ", transposed" : "")
                                 << (neighbour ? ", with a neighbour" : "");
        }
    }
  if (std::ranges::find(kElementwise, name) != std::end(kElementwise)) {
    EXPECT_GT(fused, 0u) << name << " never ran in a fused kernel";
  }
}

std::vector<std::string> all_ops() {
  std::vector<std::string> ops;
  for (const Sample& sample : table().samples())
    if (std::ranges::find(ops, sample.op) == ops.end()) ops.push_back(sample.op);
  return ops;
}

INSTANTIATE_TEST_SUITE_P(All, Samples, testing::ValuesIn(all_ops()),
                         [](const auto& info) { return info.param; });

}  // namespace
