// Computing the results of one frame: operands made canonical, a kernel chosen and run.
#pragma once

#include <optional>
#include <vector>

#include "dispatch/frame.hpp"
#include "dispatch/loop.hpp"
#include "dispatch/plan_cache.hpp"
#include "memory/generator.hpp"

namespace tenon::core {

class Execution {
 public:
  // The frame's rule has run. `into`: destinations given by the caller, or NULL.
  Execution(Frame& frame, tn_tensor* const* into);

  // Runs the best kernel on the frame's device; false when there is none for these operands.
  bool run(std::string_view& provider);
  // After run: results as new references (none for destinations given by the caller, which are filled).
  void finish(tn_tensor** outs);

  tn_dtype key_dtype() const;
  // tn_host.make_output.
  const tn_view* make_output(uint32_t index, std::span<const int64_t> shape);

 private:
  bool one_row() const;
  void take_argument(uint32_t i);
  void take_list(uint32_t i);
  const tn_view* take_tensor(uint32_t i, tn_tensor& tensor);
  tn_view& next_scalar();
  const tn_view* number(uint32_t i);
  const tn_view* raised(const tn_view* view);
  void make_outputs();
  bool writes_directly(uint32_t k) const;
  const int64_t* layout(std::span<const int64_t> shape) const;
  void build_call();
  void build_loop();
  void make_inputs_contiguous();
  void move_dim_last();
  void put_scalars_on_device();
  Ref move_last(const tn_tensor& tensor) const;
  bool try_kernel(const KernelEntry& entry);

  struct Output {
    tn_tensor* target = nullptr;  // what the kernel writes to, or what it wrote is copied to
    Ref given;                    // what the caller gets: the target, or a view of it
    bool direct = false;          // the caller's destination is the target
  };
  struct CopyBack {  // a written argument or result that the kernel gets in another form
    tn_tensor* original;
    Ref copy;
  };

  Frame& frame_;
  tn_tensor* const* into_;
  tn_call call_;
  Loop loop_;
  bool contiguous_done_ = false;
  bool scalars_done_ = false;
  uint32_t nscalars_ = 0;
  std::optional<tn_generator*> generator_;  // of a call that draws; NULL: the default
  Draws draws_{};                           // what a kernel gets for it
  tn_value args_[kMaxArgs];
  tn_view scalars_[4];
  Few<const tn_view*, kFewResults> out_views_;
  Few<Output, kFewResults> outputs_;
  std::vector<Ref> kept_;  // temporaries, alive until the end
  std::vector<std::vector<const tn_view*>> lists_;
  std::vector<CopyBack> copy_back_;
};

}  // namespace tenon::core
