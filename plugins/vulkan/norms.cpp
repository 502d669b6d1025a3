#include "norms.hpp"

#include "shaders/norm_apply.hpp"

namespace tenon::vulkan {

void run_apply(const tn_call& call, Apply which, const Normalized& operands,
               const Sharing& sharing) {
  const int64_t count = numel(*operands.x);
  if (count == 0) return;
  Launch launch(call, shaders::norm_apply, compute_of(operands.x->dtype));
  launch.constant(which).constant(operands.x->dtype);
  launch.constant(parameter_constant(operands.weight))
      .constant(parameter_constant(operands.last))
      .constant(operands.mean != nullptr);
  launch.out(output(call)).in(*operands.x);
  for (const tn_view* view : {operands.mean, operands.rstd, operands.weight, operands.last})
    view != nullptr ? launch.in(*view) : launch.none();
  operands.means.bind(launch);
  launch.word(count)
      .word(sharing.step)
      .word(sharing.count)
      .word(sharing.parameter_step)
      .word(sharing.parameter_count);
  launch.elements(count);
}

}  // namespace tenon::vulkan
