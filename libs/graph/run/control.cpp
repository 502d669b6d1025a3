#include "run/control.hpp"

#include "run/program.hpp"
#include "run/replay.hpp"

namespace tenon::graph {
namespace {

using Tensors = std::vector<Tensor>;

Tensors run(Program& program, const Tensors& inputs) {
  std::vector<tn_tensor*> results(program.graph().results.size());
  program.run({TensorList(inputs).handles(), inputs.size()}, results.data());
  Tensors made;
  for (tn_tensor* result : results) made.push_back(Tensor::adopt(result));
  return made;
}

bool holds(const Tensor& predicate) { return predicate.item<double>() != 0; }

// Takes arguments in order, some of each kind.
class Inputs {
 public:
  Inputs(const Tensors& operands, size_t carried, size_t scanned)
      : captures_(operands.begin() + static_cast<std::ptrdiff_t>(carried + scanned),
                  operands.end()) {}
  Tensors with(const Tensors& carried, const Tensors& slices = {}) const {
    Tensors all = carried;
    all.insert(all.end(), slices.begin(), slices.end());
    all.insert(all.end(), captures_.begin(), captures_.end());
    return all;
  }

 private:
  Tensors captures_;
};

void scan(const Control& control, Tensors state, const Tensors& scanned, const Inputs& inputs,
          const Tensors& targets) {
  const int64_t trips = scanned[0].shape(0);
  for (int64_t trip = 0; trip < trips; ++trip) {
    Tensors slices;
    for (const Tensor& one : scanned) slices.push_back(one.select(0, trip));
    Tensors found = run(*control.programs[0], inputs.with(state, slices));
    for (size_t k = control.carried; k < found.size(); ++k) {
      Tensor slice = targets[k].select(0, trip);
      slice.copy_(found[k]);
    }
    found.resize(control.carried);
    state = std::move(found);
  }
  for (size_t k = 0; k < state.size(); ++k) Tensor(targets[k]).copy_(state[k]);
}

}  // namespace

void run_control(const Node& node, std::span<const Tensor> flats) {
  const Control& control = *node.control;
  Tensors operands, targets;
  for (const Argument& argument : node.args)
    operands.push_back(view_in(std::get<View>(argument), flats));
  for (const View& result : node.results) targets.push_back(view_in(result, flats));
  const auto first = [&](size_t from, size_t count) {
    const auto begin = operands.begin() + static_cast<std::ptrdiff_t>(from);
    return Tensors(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  if (control.kind == Control::Kind::Scan)
    return scan(control, first(0, control.carried), first(control.carried, control.scanned),
                Inputs(operands, control.carried, control.scanned), targets);
  Tensors found;
  if (control.kind == Control::Kind::If) {
    const size_t branch = holds(operands[0]) ? 0 : 1;
    if (is_refused(control, branch))
      throw Error(TN_FAILED_PRECONDITION,
                  "[graph.cond] the branch that the predicate selects cannot be computed: " +
                      control.refused[branch]);
    found = run(*control.programs[branch], first(1, operands.size() - 1));
  } else {
    const Inputs inputs(operands, control.carried, 0);
    found = first(0, control.carried);
    while (holds(run(*control.programs[0], inputs.with(found))[0]))
      found = run(*control.programs[1], inputs.with(found));
  }
  for (size_t k = 0; k < found.size(); ++k) targets[k].copy_(found[k]);
}

}  // namespace tenon::graph
