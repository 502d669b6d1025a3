// A graph: calls of ops over buffers, in order. Buffers are flat; every operand is a strided view of one.
#pragma once

#include <array>
#include <complex>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/dims.hpp"
#include "ir/sizes.hpp"
#include "tenon/tensor.hpp"

struct tn_kernel;

namespace tenon::graph {

enum class Role : uint8_t {
  Temporary,  // made and used inside
  Input,      // given to each run
  Constant,   // a tensor from outside: weights
  State,      // one that nodes write to: what a training step changes
};
// A tensor from outside.
inline bool is_held(Role role) { return role == Role::Constant || role == Role::State; }

// Elements of one dtype.
struct Buffer {
  Role role = Role::Temporary;
  DType dtype = DType::F32;
  int64_t size = 0;       // elements that views reach
  std::string name = {};  // of an input or a tensor from outside
  Tensor constant = {};   // that tensor: flat, `size` elements
};

// Elements of a buffer.
struct View {
  uint32_t buffer = 0;
  DType dtype = DType::F32;
  int64_t offset = 0;  // elements
  Dims shape = {};
  Dims strides = {};  // elements

  int64_t numel() const;
  bool contiguous() const;
  // One beyond the last element of the buffer that it reaches; 0 where it has none.
  int64_t end() const;
};

// A number of the host among tensors.
struct Number {
  DType dtype = DType::F32;
  std::array<unsigned char, 16> bytes{};
};
// A number that may be another in each run: an optimizer's rate, the count of its steps.
struct Symbol {
  std::string name;
  double value = 0;
  bool counts = false;  // greater by one after each run
};
// Stands for one among arguments.
struct Symbolic {
  enum class Kind : uint8_t { Int, Float, Number };
  uint32_t symbol = 0;
  Kind kind = Kind::Float;
  DType dtype = DType::F64;  // of Kind::Number
  bool operator==(const Symbolic&) const = default;
};
// Stands for the device that the graph runs on.
struct Here {};
// Stands for the default generator.
struct Draw {};

using Views = std::vector<std::optional<View>>;
using Argument = std::variant<std::monostate, bool, int64_t, double, std::complex<double>,
                              std::string, std::vector<int64_t>, std::vector<double>, DType, Here,
                              Draw, Symbolic, Number, View, Views>;

// What a kernel gets beside its operands (tn_call.loop, tn_call.flags).
struct Loop {
  uint32_t flags = 0;
  uint32_t reduced = 0;
  Dims shape;
  std::vector<Dims> strides;
};

struct Fused;    // fuse/fused.hpp
struct Control;  // ir/control.hpp

// A call of an op with all its arguments, in the schema's order.
struct Node {
  const tn_op* op =
      nullptr;  // NULL: it stands for the nodes of `fused`, or runs the graphs of `control`
  std::vector<Argument> args;
  std::vector<View> results;
  // Of a graph that was lowered to a device.
  const tn_kernel* kernel = nullptr;  // NULL: it is called as a program would
  std::optional<Loop> loop = {};
  std::shared_ptr<const Fused> fused = {};  // operands are `args` and `results`, which no op names
  std::shared_ptr<Control> control = {};
  std::shared_ptr<const std::string> source = {};  // "model.py:12", while it is traced

  std::string_view name() const;
};

struct Graph {
  std::vector<Buffer> buffers;
  std::vector<View> inputs;
  std::vector<Node> nodes;
  std::vector<View> results;
  std::vector<Symbol> symbols = {};
  Sizes sizes = {};
  bool differentiable = false;  // a weight required a gradient

  bool writes_state() const;
};

// Equal in all; floating numbers by their bits.
bool same(const View& a, const View& b);
bool same(const Argument& a, const Argument& b);

// A value in a dtype, as kernels get numbers of the host; none where the dtype is neither an integer of 32 bits or more nor f32 or f64.
std::optional<Number> number_of(DType dtype, double value);

// The buffers that a node reads, those that it writes. An argument marked "!" is both.
void reads(const Node& node, std::vector<uint32_t>& buffers);
void writes(const Node& node, std::vector<uint32_t>& buffers);
// Whether it draws from the default generator.
bool draws(const Node& node);
bool has_symbols(const Node& node);
// "f32[2, 3]"
std::string described_type(const View& view);
// Its op, and where it was called: "add (model.py:12)".
std::string described(const Node& node);

// Every view of a node's own, among its arguments and its results.
void each_view_in(Node& node, const std::function<void(View&)>& use);

// Nodes of which no result is used go.
void drop_dead(Graph& graph);
// So do buffers that nothing uses; the others keep their order.
void drop_unused(Graph& graph);
// Whether a view shows what is no element of its buffer, or shows it as another dtype.
bool reaches_beyond(const View& view, const Buffer& buffer);
// Throws Error(TN_OUT_OF_RANGE) where a view leaves its buffer, as it can where sizes come from a file.
void check_reach(const Graph& graph);

// As people read it: a line a buffer from outside, a line a node.
std::string to_text(const Graph& graph);
std::string to_text(const Graph& graph, const Node& node);

}  // namespace tenon::graph
