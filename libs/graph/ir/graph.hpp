// A graph: calls of ops over buffers, in order. Buffers are flat, and every operand is a strided view of one.
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
  Input,      // given in each run
  Constant,   // a tensor from outside: a weight
  State,      // a tensor from outside that nodes write to, such as what a training step changes
};
// A tensor from outside.
inline bool is_held(Role role) { return role == Role::Constant || role == Role::State; }

// A flat buffer of one dtype.
struct Buffer {
  Role role = Role::Temporary;
  DType dtype = DType::F32;
  int64_t size = 0;       // elements, as far as views reach
  std::string name = {};  // of an input or of a tensor from outside
  Tensor constant = {};   // the tensor from outside: flat, `size` elements
};

// A strided view of a buffer.
struct View {
  uint32_t buffer = 0;
  DType dtype = DType::F32;
  int64_t offset = 0;  // elements
  Dims shape = {};
  Dims strides = {};  // elements

  int64_t numel() const;
  bool contiguous() const;
  // One past the last element of the buffer that the view reaches; 0 if it has no elements.
  int64_t end() const;
};

// A host number among tensor arguments.
struct Number {
  DType dtype = DType::F32;
  std::array<unsigned char, 16> bytes{};
};
// A number that may change from run to run: an optimizer's rate, or its step count.
struct Symbol {
  std::string name;
  double value = 0;
  bool counts = false;  // it grows by one after each run
};
// Stands for a symbol among the arguments.
struct Symbolic {
  enum class Kind : uint8_t { Int, Float, Number };
  uint32_t symbol = 0;
  Kind kind = Kind::Float;
  DType dtype = DType::F64;  // if Kind::Number
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

// What a kernel gets besides its operands (tn_call.loop, tn_call.flags).
struct Loop {
  uint32_t flags = 0;
  uint32_t reduced = 0;
  Dims shape;
  std::vector<Dims> strides;
};

struct Fused;    // fuse/fused.hpp
struct Control;  // ir/control.hpp
class Derived;   // trace/derived.hpp

// A call of an op with all its arguments, in the order of the schema.
struct Node {
  const tn_op* op = nullptr;  // NULL if the node is `fused` or `control`
  std::vector<Argument> args;
  std::vector<View> results;
  // In a graph that was lowered to a device:
  const tn_kernel* kernel = nullptr;  // NULL: the op is called as a program would call it
  std::optional<Loop> loop = {};
  std::shared_ptr<const Fused> fused = {};  // its operands are `args` and `results`
  std::shared_ptr<Control> control = {};
  std::shared_ptr<const std::string> source = {};  // "model.py:12", while tracing

  std::string_view name() const;
};

struct Graph {
  std::vector<Buffer> buffers;
  std::vector<View> inputs;
  std::vector<Node> nodes;
  std::vector<View> results;
  std::vector<Symbol> symbols = {};
  Sizes sizes = {};
  bool differentiable = false;            // a weight required a gradient
  std::shared_ptr<Derived> derived = {};  // constants that follow writes to outside tensors

  // The inputs that nodes write to, by position.
  std::vector<size_t> written_inputs() const;
  // Whether nodes write to state or to inputs.
  bool writes_outside() const;
  // Whether the view shows its whole buffer, in rows.
  bool shows_all(const View& view) const;
};

// Equal in everything; floating-point numbers are compared by their bits.
bool same(const View& a, const View& b);
bool same(const Argument& a, const Argument& b);

// A host number in the form that kernels read. None unless the dtype is f32, f64 or an integer of at least 32 bits.
std::optional<Number> number_of(DType dtype, double value);

// The buffers that a node reads, and those that it writes. An argument marked "!" is both.
void reads(const Node& node, std::vector<uint32_t>& buffers);
void writes(const Node& node, std::vector<uint32_t>& buffers);
// Whether the node draws from the default generator.
bool draws(const Node& node);
bool has_symbols(const Node& node);
// "f32[2, 3]"
std::string described_type(const View& view);
// The op, and where it was called: "add (model.py:12)".
std::string described(const Node& node);

// Every view among a node's arguments and results.
void each_view_in(Node& node, const std::function<void(View&)>& use);

// Removes nodes whose results are all unused.
void drop_dead(Graph& graph);
// Removes unused buffers; the others keep their order.
void drop_unused(Graph& graph);
// Whether a view leaves its buffer or has another dtype.
bool reaches_beyond(const View& view, const Buffer& buffer);
// Throws Error(TN_OUT_OF_RANGE) if a view leaves its buffer, which can happen with sizes from a file.
void check_reach(const Graph& graph);

// The graph as text: one line for each outside buffer and each node.
std::string to_text(const Graph& graph);
std::string to_text(const Graph& graph, const Node& node);

}  // namespace tenon::graph
