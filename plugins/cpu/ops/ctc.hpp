// What ctc_loss and its backward are told of a batch.
#pragma once

#include <string>

#include "kernels.hpp"

namespace tenon::cpu {

struct CtcBatch {
  int64_t steps, batch, classes, most, blank;  // most: labels of a row of targets
  const int64_t *targets, *inputs, *lengths;

  template <class arg>
  CtcBatch(arg, const tn_call& call)
      : steps(input(call, arg::log_probs).shape[0]),
        batch(input(call, arg::log_probs).shape[1]),
        classes(input(call, arg::log_probs).shape[2]),
        most(input(call, arg::targets).shape[1]),
        blank(call.args[arg::blank].as.i),
        targets(data_of<const int64_t>(input(call, arg::targets))),
        inputs(data_of<const int64_t>(input(call, arg::input_lengths))),
        lengths(data_of<const int64_t>(input(call, arg::target_lengths))) {
    for (int64_t n = 0; n < batch; ++n) check(n);
  }

  // Steps that a thread should have at least, in samples.
  int64_t grain(int64_t elements) const {
    return std::max<int64_t>(1, elements / std::max<int64_t>(1, steps * (2 * most + 1)));
  }

 private:
  void check(int64_t n) const {
    if (inputs[n] < 0 || inputs[n] > steps)
      fail(TN_OUT_OF_RANGE, "[ctc_loss] input length ", inputs[n], " of sample ", n,
           ", must be 0 to ", steps);
    if (lengths[n] < 0 || lengths[n] > most)
      fail(TN_OUT_OF_RANGE, "[ctc_loss] target length ", lengths[n], " of sample ", n,
           ", must be 0 to ", most);
    for (int64_t s = 0; s < lengths[n]; ++s) {
      if (const int64_t label = targets[n * most + s]; label < 0 || label >= classes)
        fail(TN_OUT_OF_RANGE, "[ctc_loss] label ", label, " of sample ", n, " out of range for ",
             classes, " classes");
    }
  }
};

}  // namespace tenon::cpu
