// Converts between references' arrays and a device's tensors, in various layouts.
#pragma once

#include <deque>

#include "sample.hpp"

namespace tenon::conformance {

enum class Layout { Contiguous, Transposed, Sliced, Flipped, Broadcast, Mixed };
constexpr Layout kLayouts[] = {Layout::Contiguous, Layout::Transposed, Layout::Sliced,
                               Layout::Flipped,    Layout::Broadcast,  Layout::Mixed};
std::string_view name_of(Layout layout);

// A tensor with an array's elements in that layout.
Tensor to_tensor(const Array& array, Device device, Layout layout, Rng& rng);
Array to_array(const Tensor& tensor);
// Makes elements equal along the dimension that Layout::Broadcast does not store.
void repeat_for_broadcast(Array& array);

// A prepared call: values, and the tensors they point at.
class Call {
 public:
  Call(const tn_op* op, const Args& args, Device device, Layout layout, Rng& rng);
  // Tensor arguments in schema order, lists flattened; replaced through `with`.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  std::vector<Tensor> run() const { return run(tensors_); }
  std::vector<Tensor> run(const std::vector<Tensor>& tensors) const;
  // Writes into the first tensor argument. Throws Error if that is impossible.
  void run_in_place(const std::vector<Tensor>& tensors) const;
  // Whether one of these arguments contains the tensor.
  bool belongs_to(size_t tensor, const std::vector<size_t>& args) const;
  // The tensors of "Tensor!" arguments.
  std::vector<Tensor> written() const;

 private:
  struct Slot {  // where the tensors go among the values
    size_t value;
    size_t first, count;
    bool list;
    bool written;
  };
  void make_on(Device device, const std::string& schema);
  std::vector<tn_value> values(const std::vector<Tensor>& tensors,
                               std::deque<std::vector<tn_tensor*>>& lists) const;

  const tn_op* op_;
  Args args_;
  std::vector<Tensor> tensors_;
  std::vector<Slot> slots_;
  std::vector<tn_value> values_;
};

}  // namespace tenon::conformance
