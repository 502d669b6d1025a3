#include "interpreter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "../../gpu/blas/fake_blas.hpp"

namespace fake_cudnn {
namespace {

fake_blas::Element element_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
      return fake_blas::Element::kDouble;
    case CUDNN_DATA_HALF:
      return fake_blas::Element::kHalf;
    case CUDNN_DATA_BFLOAT16:
      return fake_blas::Element::kBFloat;
    default:
      return fake_blas::Element::kFloat;
  }
}

// Elements by uid, at the places that the strides give.
class Cells {
 public:
  explicit Cells(const std::map<int64_t, void*>& memory) : memory_(memory) {}

  bool knows(const Tensor& tensor) const {
    return cells_.contains(tensor.uid) || (!tensor.is_virtual && !written_.contains(tensor.uid));
  }
  // The outputs of operations that have not run yet.
  void promise(const Tensor& tensor) { written_.insert({tensor.uid, true}); }

  std::vector<double>& of(const Tensor& tensor) {
    std::vector<double>& cells = cells_[tensor.uid];
    if (!cells.empty()) return cells;
    cells.assign(static_cast<size_t>(tensor.extent()), 0);
    const auto at = memory_.find(tensor.uid);
    if (!written_.contains(tensor.uid) && at != memory_.end())
      for_each(tensor.sizes, [&](const Index& index) {
        const int64_t place = tensor.place(index);
        cells[static_cast<size_t>(place)] =
            fake_blas::load(at->second, element_of(tensor.type), place);
      });
    return cells;
  }
  double read(const Tensor& tensor, const Index& at, const Index& whole) {
    return of(tensor)[static_cast<size_t>(tensor.place(at, whole))];
  }
  double& cell(const Tensor& tensor, const Index& at) {
    return of(tensor)[static_cast<size_t>(tensor.place(at))];
  }
  void alias(const Tensor& to, const Tensor& from) { cells_[to.uid] = of(from); }
  void write(const Tensor& tensor) {
    if (tensor.is_virtual) return;
    for_each(tensor.sizes, [&](const Index& index) {
      fake_blas::store(memory_.at(tensor.uid), element_of(tensor.type), tensor.place(index),
                       cell(tensor, index));
    });
  }

 private:
  const std::map<int64_t, void*>& memory_;
  std::map<int64_t, std::vector<double>> cells_;
  std::map<int64_t, bool> written_;
};

struct Operation {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::function<void(Cells&)> run;
};

// ---- Operations ---------------------------------------------------------------------------------------------------------

double pointwise(cudnnPointwiseMode_t mode, double x, double b, double t, bool& known) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + b;
    case CUDNN_POINTWISE_SUB:
      return x - b;
    case CUDNN_POINTWISE_MUL:
      return x * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    case CUDNN_POINTWISE_EXP:
      return std::exp(x);
    case CUDNN_POINTWISE_LOG:
      return std::log(x);
    case CUDNN_POINTWISE_CMP_GE:
      return x >= b ? 1 : 0;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return t != 0 ? x : b;
    default:
      known = false;
      return 0;
  }
}

Operation read_pointwise(const Descriptor& d, bool& known) {
  const Descriptor& how = *d.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const auto mode = how.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const auto axis = how.one_or<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, 0);
  std::vector<Tensor> inputs;
  for (const auto name :
       {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
        CUDNN_ATTR_OPERATION_POINTWISE_TDESC})
    if (d.has(name)) inputs.emplace_back(*d.part(name));
  const Tensor y(*d.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  if (mode == CUDNN_POINTWISE_GEN_INDEX)
    return {inputs, {y}, [y, axis](Cells& cells) {
              for_each(y.sizes, [&](const Index& at) {
                cells.cell(y, at) = static_cast<double>(at[static_cast<size_t>(axis)]);
              });
            }};
  pointwise(mode, 1, 1, 1, known);
  return {inputs, {y}, [inputs, y, mode](Cells& cells) {
            bool ok = true;
            for_each(y.sizes, [&](const Index& at) {
              double operands[3] = {};
              for (size_t i = 0; i < inputs.size(); ++i)
                operands[i] = cells.read(inputs[i], at, y.sizes);
              cells.cell(y, at) = pointwise(mode, operands[0], operands[1], operands[2], ok);
            });
          }};
}

Operation read_matmul(const Descriptor& d) {
  const Tensor a(*d.part(CUDNN_ATTR_OPERATION_MATMUL_ADESC)),
      b(*d.part(CUDNN_ATTR_OPERATION_MATMUL_BDESC)), c(*d.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
  return {{a, b}, {c}, [a, b, c](Cells& cells) {
            const size_t row = c.sizes.size() - 2, column = row + 1;
            const int64_t terms = a.sizes[column];
            Index of_a = c.sizes, of_b = c.sizes;
            of_a[column] = of_b[row] = terms;
            for_each(c.sizes, [&](const Index& at) {
              double sum = 0;
              Index left = at, right = at;
              for (int64_t k = 0; k < terms; ++k) {
                left[column] = right[row] = k;
                sum += cells.read(a, left, of_a) * cells.read(b, right, of_b);
              }
              cells.cell(c, at) = sum;
            });
          }};
}

Operation read_reduction(const Descriptor& d, bool& known) {
  const Descriptor& how = *d.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  const auto op = how.one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
  known &= op == CUDNN_REDUCE_TENSOR_ADD || op == CUDNN_REDUCE_TENSOR_MAX;
  const Tensor x(*d.part(CUDNN_ATTR_OPERATION_REDUCTION_XDESC)),
      y(*d.part(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
  return {{x}, {y}, [x, y, op](Cells& cells) {
            const bool adds = op == CUDNN_REDUCE_TENSOR_ADD;
            for_each(y.sizes, [&](const Index& at) {
              cells.cell(y, at) = adds ? 0 : -std::numeric_limits<double>::infinity();
            });
            for_each(x.sizes, [&](const Index& at) {
              double& to = cells.of(y)[static_cast<size_t>(y.place(at, x.sizes))];
              const double value = cells.read(x, at, x.sizes);
              to = adds ? to + value : std::max(to, value);
            });
          }};
}

// The same memory with other sizes and strides.
Operation read_reshape(const Descriptor& d) {
  const Tensor x(*d.part(CUDNN_ATTR_OPERATION_RESHAPE_XDESC)),
      y(*d.part(CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
  return {{x}, {y}, [x, y](Cells& cells) { cells.alias(y, x); }};
}

// y = softmax(scale·q·kᵀ)·v and the logarithm of each row's Σ e^score.
Operation read_attention(const Descriptor& d) {
  const Tensor q(*d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC)),
      k(*d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC)),
      v(*d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC)),
      scale(*d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC)),
      y(*d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC)),
      stats(*d.part(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC));
  return {{q, k, v, scale}, {y, stats}, [=](Cells& cells) {
            const int64_t keys = k.sizes[2], width = q.sizes[3];
            const double factor = cells.of(scale)[0];
            for_each(stats.sizes, [&](const Index& at) {
              std::vector<double> weights(static_cast<size_t>(keys));
              double total = 0;
              for (int64_t j = 0; j < keys; ++j) {
                double score = 0;
                for (int64_t e = 0; e < width; ++e)
                  score +=
                      cells.cell(q, {at[0], at[1], at[2], e}) *
                      cells.read(k, {at[0], at[1], j, e}, {q.sizes[0], q.sizes[1], keys, width});
                total += weights[static_cast<size_t>(j)] = std::exp(factor * score);
              }
              cells.cell(stats, at) = std::log(total);
              for (int64_t f = 0; f < v.sizes[3]; ++f) {
                double sum = 0;
                for (int64_t j = 0; j < keys; ++j)
                  sum += weights[static_cast<size_t>(j)] / total *
                         cells.read(v, {at[0], at[1], j, f},
                                    {q.sizes[0], q.sizes[1], keys, v.sizes[3]});
                cells.cell(y, {at[0], at[1], at[2], f}) = sum;
              }
            });
          }};
}

struct Convolution {
  Tensor x, w, y;
  Index padding, strides, dilations;

  Convolution(const Descriptor& how, const Ref& x, const Ref& w, const Ref& y)
      : x(*x),
        w(*w),
        y(*y),
        padding(how.list<int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)),
        strides(how.list<int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)),
        dilations(how.list<int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS)) {}

  // Calls fn(position in x, in w, in y) for each product.
  void for_each_product(const std::function<void(int64_t, int64_t, int64_t)>& fn) const {
    const int64_t filters = w.sizes[0] / (x.sizes[1] / w.sizes[1]);  // for each group
    for_each(y.sizes, [&](const Index& of_y) {
      Index taps = w.sizes;
      taps[0] = 1;
      for_each(taps, [&](Index of_w) {
        Index of_x = {of_y[0], of_y[1] / filters * w.sizes[1] + of_w[1]};
        for (size_t d = 0; d < strides.size(); ++d) {
          of_x.push_back(of_y[2 + d] * strides[d] - padding[d] + of_w[2 + d] * dilations[d]);
          if (of_x.back() < 0 || of_x.back() >= x.sizes[2 + d]) return;
        }
        of_w[0] = of_y[1];
        fn(x.place(of_x), w.place(of_w), y.place(of_y));
      });
    });
  }
};

Operation make_convolution(const Convolution& conv, const Tensor& left, const Tensor& right,
                           const Tensor& result) {
  return {{left, right}, {result}, [conv, result](Cells& cells) {
            std::vector<double>* of[3] = {&cells.of(conv.x), &cells.of(conv.w), &cells.of(conv.y)};
            std::fill(cells.of(result).begin(), cells.of(result).end(), 0);
            conv.for_each_product([&](int64_t x, int64_t w, int64_t y) {
              double& at_x = (*of[0])[static_cast<size_t>(x)];
              double& at_w = (*of[1])[static_cast<size_t>(w)];
              double& at_y = (*of[2])[static_cast<size_t>(y)];
              if (result.uid == conv.y.uid) at_y += at_x * at_w;
              if (result.uid == conv.x.uid) at_x += at_y * at_w;
              if (result.uid == conv.w.uid) at_w += at_x * at_y;
            });
          }};
}

#define CONVOLUTION(PASS, X, W, Y)                                          \
  Convolution(*d.part(CUDNN_ATTR_OPERATION_CONVOLUTION_##PASS##_CONV_DESC), \
              d.part(CUDNN_ATTR_OPERATION_CONVOLUTION_##PASS##_##X),        \
              d.part(CUDNN_ATTR_OPERATION_CONVOLUTION_##PASS##_##W),        \
              d.part(CUDNN_ATTR_OPERATION_CONVOLUTION_##PASS##_##Y))

Operation read(const Descriptor& d, bool& known) {
  switch (d.type) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return read_pointwise(d, known);
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return read_matmul(d);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return read_reduction(d, known);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return read_reshape(d);
    case CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR:
      return read_attention(d);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: {
      const Convolution c = CONVOLUTION(FORWARD, X, W, Y);
      return make_convolution(c, c.x, c.w, c.y);
    }
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR: {
      const Convolution c = CONVOLUTION(BWD_DATA, DX, W, DY);
      return make_convolution(c, c.y, c.w, c.x);
    }
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: {
      const Convolution c = CONVOLUTION(BWD_FILTER, X, DW, DY);
      return make_convolution(c, c.y, c.x, c.w);
    }
    default:
      known = false;
      return {};
  }
}

}  // namespace

Tensor::Tensor(const Descriptor& d)
    : uid(d.one_or<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0)),
      type(d.one_or(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT)),
      is_virtual(d.one_or(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false)),
      is_by_value(d.one_or(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false)) {
  if (!d.has(CUDNN_ATTR_TENSOR_DIMENSIONS)) return;
  sizes = d.list<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  strides = d.list<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  // A tensor without memory may have meaningless strides; if it is reshaped from one with memory, that one's strides count.
  if (!is_virtual || has_places()) return;
  for (size_t i = sizes.size(); i-- > 0;)
    strides[i] = i + 1 == sizes.size() ? 1 : strides[i + 1] * sizes[i + 1];
}

int64_t Tensor::place(const Index& at, const Index& whole) const {
  int64_t sum = 0;
  for (size_t d = 0; d < sizes.size(); ++d) sum += at[d] * sizes[d] / whole[d] * strides[d];
  return sum;
}
bool Tensor::has_places() const {
  Index dims(sizes.size());
  std::iota(dims.begin(), dims.end(), 0);
  std::sort(dims.begin(), dims.end(), [&](int64_t a, int64_t b) {
    return strides[static_cast<size_t>(a)] < strides[static_cast<size_t>(b)];
  });
  int64_t last = 0;  // of the dimensions so far
  for (const int64_t dim : dims) {
    const auto d = static_cast<size_t>(dim);
    if (sizes[d] > 1 && strides[d] <= last) return false;
    last += (sizes[d] - 1) * strides[d];
  }
  return true;
}
int64_t Tensor::extent() const {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
  return last + 1;
}

void for_each(const Index& sizes, const std::function<void(const Index&)>& fn) {
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 0; })) return;
  Index at(sizes.size(), 0);
  while (true) {
    fn(at);
    size_t d = sizes.size();
    while (d > 0 && ++at[d - 1] == sizes[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

bool compute(const std::vector<Ref>& operations, const std::map<int64_t, void*>& memory) {
  bool known = true;
  std::vector<Operation> waiting;
  for (const Ref& operation : operations) waiting.push_back(read(*operation, known));
  if (!known) return false;
  Cells cells(memory);
  for (const Operation& operation : waiting)
    for (const Tensor& output : operation.outputs) cells.promise(output);
  while (!waiting.empty()) {
    const auto ready = std::find_if(waiting.begin(), waiting.end(), [&](const Operation& one) {
      return std::all_of(one.inputs.begin(), one.inputs.end(),
                         [&](const Tensor& tensor) { return cells.knows(tensor); });
    });
    if (ready == waiting.end()) return false;
    ready->run(cells);
    for (const Tensor& output : ready->outputs) cells.write(output);
    waiting.erase(ready);
  }
  return true;
}

bool is_aligned(const std::vector<Ref>& operations, const std::map<int64_t, void*>& memory,
                uintptr_t bytes) {
  for (const Ref& operation : operations)
    for (const auto& [name, attribute] : operation->attributes)
      for (const Ref& part : attribute.parts) {
        const Tensor tensor(*part);
        const auto at = memory.find(tensor.uid);
        if (part->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && !tensor.is_by_value &&
            at != memory.end() && reinterpret_cast<uintptr_t>(at->second) % bytes != 0)
          return false;
      }
  return true;
}

int64_t filters_of(const std::vector<Ref>& operations) {
  for (const Ref& operation : operations)
    if (operation->has(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W))
      return Tensor(*operation->part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W)).sizes[0];
  return 0;
}

}  // namespace fake_cudnn
