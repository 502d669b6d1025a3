// Joining, indexing, padding, and tensors made from one number.
#include <algorithm>
#include <limits>
#include <numeric>

#include "export/table.hpp"
#include "model/files.hpp"
#include "tenon/creation.hpp"

namespace tenon::onnx {
namespace {

using Ints = std::vector<int64_t>;

void concat(Emitter& out, const RecordedCall& call) {
  Names parts;
  for (const auto& view : call.views("xs")) parts.push_back(out.value(*view));
  out.give(call, out.node("Concat", parts, {{"axis", call.integer("dim")}}));
}

void gather(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node("GatherElements", {out.input(call, "x"), out.input(call, "index")},
                          {{"axis", call.integer("dim")}}));
}
std::string reduction_of(const RecordedCall& call) {
  if (call.op == "scatter") return "none";
  if (call.op == "scatter_add") return "add";
  const std::string reduce = call.text("reduce");
  if (reduce == "mean" || !call.flag("include_self"))
    throw Error(TN_UNIMPLEMENTED,
                "[onnx.export] scatter_reduce of means, or without the entries of x");
  return reduce == "sum" ? "add" : reduce == "prod" ? "mul" : reduce == "amax" ? "max" : "min";
}
void scatter(Emitter& out, const RecordedCall& call) {
  const std::string reduction = reduction_of(call);
  out.give(call, out.node("ScatterElements",
                          {out.input(call, "x"), out.input(call, "index"),
                           out.operand(call, "src", call.view("x").dtype)},
                          {{"axis", call.integer("dim")}, {"reduction", reduction}}));
}
// Adds slices of src to the slices of x that index names.
void index_add(Emitter& out, const RecordedCall& call) {
  const RecordedView src = call.view("src");
  const int64_t given = call.integer("dim"), rank = static_cast<int64_t>(src.shape.size()),
                dim = given < 0 ? given + rank : given;
  Ints along(src.shape.size(), 1);
  along[static_cast<size_t>(dim)] = src.shape[static_cast<size_t>(dim)];
  const std::string index = out.node("Reshape", {out.input(call, "index"), out.ints(along)});
  const std::string each = out.node("Expand", {index, out.ints(src.shape)});
  out.give(call, out.node("ScatterElements", {out.input(call, "x"), each, out.value(src)},
                          {{"axis", dim}, {"reduction", std::string("add")}}));
}
void index_select(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node("Gather", {out.input(call, "x"), out.input(call, "index")},
                          {{"axis", call.integer("dim")}}));
}
void embedding(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node("Gather", {out.input(call, "weight"), out.input(call, "index")},
                          {{"axis", int64_t{0}}}));
}

// The bag of each row (n, 1): the number of bags begun so far, minus one.
std::string bags_of(Emitter& out, const RecordedCall& call, int64_t n) {
  const std::string begun =
      out.node("GreaterOrEqual",
               {out.node("Unsqueeze", {out.range(n), out.ints({1})}), out.input(call, "offsets")});
  const std::string ones =
      out.node("Cast", {begun}, {{"to", static_cast<int64_t>(type_of_dtype(DType::I64))}});
  return out.node("Sub", {out.node("ReduceSum", {ones, out.ints({1})}), out.number(1, DType::I64)});
}
void embedding_bag(Emitter& out, const RecordedCall& call) {
  if (call.has("padding_idx"))
    throw Error(TN_UNIMPLEMENTED, "[onnx.export] embedding_bag with padding_idx");
  const DType dtype = call.view("weight").dtype;
  const int64_t n = call.view("index").shape[0], bags = call.view("offsets").shape[0],
                width = call.view("weight").shape[1];
  const std::string bag = bags_of(out, call, n), mode = call.text("mode");
  const auto filled = [&](double value, const Ints& shape) {
    return out.node("Expand", {out.number(value, dtype), out.ints(shape)});
  };
  const auto gathered = [&](const std::string& base, const std::string& at, const std::string& rows,
                            const std::string& reduction) {
    return out.node("ScatterElements", {base, at, rows},
                    {{"axis", int64_t{0}}, {"reduction", reduction}});
  };
  std::string rows = out.node("Gather", {out.input(call, "weight"), out.input(call, "index")},
                              {{"axis", int64_t{0}}});
  if (call.has("per_sample_weights"))
    rows = out.node(
        "Mul",
        {rows, out.node("Unsqueeze", {out.input(call, "per_sample_weights"), out.ints({1})})});
  const std::string each = out.node("Expand", {bag, out.ints({n, width})});
  const double start = mode == "max" ? -std::numeric_limits<double>::infinity() : 0;
  const std::string found =
      gathered(filled(start, {bags, width}), each, rows, mode == "max" ? "max" : "add");
  if (mode == "sum") return out.give(call, found);
  const std::string count = gathered(filled(0, {bags, 1}), bag, filled(1, {n, 1}), "add");
  if (mode == "mean")
    return out.give(call, out.node("Div", {found, out.node("Max", {count, out.number(1, dtype)})}));
  const std::string any = out.node("Greater", {count, out.number(0, dtype)});
  out.give(call, out.node("Where", {any, found, out.number(0, dtype)}));
}

// The indices of `index` and `index_put`, and the dimension that the first is for.
struct Indices {
  Names given;
  size_t first = 0;
  Ints common;  // the shape that they broadcast to

  // The indices as positions, (…, number of indices).
  std::string positions(Emitter& out) const {
    Names parts;
    for (const std::string& one : given)
      parts.push_back(
          out.node("Unsqueeze", {out.node("Expand", {one, out.ints(common)}), out.ints({-1})}));
    return out.node("Concat", parts, {{"axis", int64_t{-1}}});
  }
};
Indices indices_of(Emitter& out, const RecordedCall& call) {
  const auto indices = call.views("indices");
  Indices made;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d]) continue;
    if (made.given.empty()) made.first = d;
    if (d != made.first + made.given.size())
      throw Error(TN_UNIMPLEMENTED, "[onnx.export] indices that are not side by side");
    made.given.push_back(out.value(*indices[d]));
    const auto& shape = indices[d]->shape;
    if (shape.size() > made.common.size())
      made.common.insert(made.common.begin(), shape.size() - made.common.size(), 1);
    for (size_t k = 1; k <= shape.size(); ++k) {
      int64_t& size = made.common[made.common.size() - k];
      if (size == 1) size = shape[shape.size() - k];
    }
  }
  return made;
}

// 0, 1, … with `count` of them from `from` on moved to the front, or those at the front moved there.
Ints order(size_t rank, size_t from, size_t count, bool to_front) {
  Ints made(rank);
  std::iota(made.begin(), made.end(), 0);
  const auto at = made.begin() + static_cast<std::ptrdiff_t>(to_front ? from : count);
  std::rotate(made.begin(), at, made.begin() + static_cast<std::ptrdiff_t>(from + count));
  return made;
}

// One index anywhere, or several, whose dimensions GatherND takes at the front.
void index(Emitter& out, const RecordedCall& call) {
  const Indices of = indices_of(out, call);
  std::string x = out.input(call, "x");
  if (of.given.size() == 1)
    return out.give(
        call, out.node("Gather", {x, of.given[0]}, {{"axis", static_cast<int64_t>(of.first)}}));
  const size_t rank = call.view("x").shape.size(), count = of.given.size();
  if (of.first != 0) x = out.node("Transpose", {x}, {{"perm", order(rank, of.first, count, true)}});
  std::string made = out.node("GatherND", {x, of.positions(out)});
  if (of.first != 0) {
    const size_t common = of.common.size();
    made = out.node("Transpose", {made},
                    {{"perm", order(rank - count + common, of.first, common, false)}});
  }
  out.give(call, made);
}

// ScatterND writes at the first dimensions, so the ones that are indexed go there and back.
void index_put(Emitter& out, const RecordedCall& call) {
  const Indices of = indices_of(out, call);
  const RecordedView view = call.view("x");
  const size_t count = of.given.size(), rank = of.common.size();
  Ints shape(view.shape.begin(), view.shape.begin() + static_cast<std::ptrdiff_t>(of.first));
  shape.insert(shape.end(), of.common.begin(), of.common.end());
  shape.insert(shape.end(), view.shape.begin() + static_cast<std::ptrdiff_t>(of.first + count),
               view.shape.end());
  std::string x = out.value(view), values = out.operand(call, "values", view.dtype);
  values = out.node("Expand", {values, out.ints(shape)});
  if (of.first != 0) {
    x = out.node("Transpose", {x}, {{"perm", order(view.shape.size(), of.first, count, true)}});
    values = out.node("Transpose", {values}, {{"perm", order(shape.size(), of.first, rank, true)}});
  }
  const std::string reduction = call.flag("accumulate") ? "add" : "none";
  std::string made =
      out.node("ScatterND", {x, of.positions(out), values}, {{"reduction", reduction}});
  if (of.first != 0)
    made =
        out.node("Transpose", {made}, {{"perm", order(view.shape.size(), of.first, count, false)}});
  out.give(call, made);
}

// Opset 20 renamed the modes; the default stayed the same.
void grid_sample(Emitter& out, const RecordedCall& call) {
  const std::string mode = call.text("mode");
  if (mode == "bicubic" || call.view("x").shape.size() != 4)
    throw Error(TN_UNIMPLEMENTED, "[onnx.export] grid_sample of volumes, or bicubic");
  Attributes attributes = {{"padding_mode", call.text("padding_mode")},
                           {"align_corners", static_cast<int64_t>(call.flag("align_corners"))}};
  if (mode != "bilinear") attributes.emplace_back("mode", mode);
  out.give(call,
           out.node("GridSample", {out.input(call, "x"), out.input(call, "grid")}, attributes));
}

// Pad's mode "wrap" is missing from opset 18, so each dimension is gathered by indices.
std::string wrapped(Emitter& out, const RecordedView& view, const Ints& pads) {
  std::string x = out.value(view);
  const size_t rank = view.shape.size();
  for (size_t d = 0; d < rank; ++d) {
    const int64_t before = pads[d], size = view.shape[d], after = pads[rank + d];
    if (before == 0 && after == 0) continue;
    Ints places;
    for (int64_t i = -before; i < size + after; ++i) places.push_back((i % size + size) % size);
    x = out.node("Gather", {x, out.ints(places)}, {{"axis", static_cast<int64_t>(d)}});
  }
  return x;
}

// Our pads are (before, after) of the last dimension, then of the one before it.
void pad(Emitter& out, const RecordedCall& call) {
  const Ints pads = call.ints("pads");
  const RecordedView view = call.view("x");
  const size_t rank = view.shape.size();
  Ints theirs(2 * rank);
  for (size_t i = 0; 2 * i + 1 < pads.size(); ++i) {
    theirs[rank - 1 - i] = pads[2 * i];
    theirs[2 * rank - 1 - i] = pads[2 * i + 1];
  }
  const std::string mode = call.text("mode");
  if (mode == "circular") return out.give(call, wrapped(out, view, theirs));
  Names inputs = {out.value(view), out.ints(theirs)};
  if (mode == "constant") inputs.push_back(out.number(call.number("value"), view.dtype));
  out.give(call,
           out.node("Pad", inputs, {{"mode", mode == "replicate" ? std::string("edge") : mode}}));
}

void roll(Emitter& out, const RecordedCall& call) {
  const RecordedView view = call.view("x");
  std::string x = out.value(view);
  Ints dims = call.has("dims") ? call.ints("dims") : Ints{0};
  const Ints shifts = call.ints("shifts");
  if (!call.has("dims")) x = out.node("Reshape", {x, out.ints({-1})});
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto at = static_cast<size_t>(
        dims[i] < 0 ? dims[i] + static_cast<int64_t>(view.shape.size()) : dims[i]);
    const int64_t size = call.has("dims") ? view.shape[at] : view.numel();
    if (size == 0) continue;
    const int64_t cut = size - ((shifts[i] % size) + size) % size;
    const std::string axis = out.ints({static_cast<int64_t>(at)});
    const std::string back = out.node("Slice", {x, out.ints({cut}), out.ints({size}), axis}),
                      front = out.node("Slice", {x, out.ints({0}), out.ints({cut}), axis});
    x = out.node("Concat", {back, front}, {{"axis", static_cast<int64_t>(at)}});
  }
  out.give(call, call.has("dims") ? x : out.node("Reshape", {x, out.ints(view.shape)}));
}

void triangle(Emitter& out, const RecordedCall& call) {
  out.give(call, out.node("Trilu", {out.input(call, "x"), out.weight(tensor(call.integer("k")))},
                          {{"upper", int64_t{call.op == "triu"}}}));
}

void full(Emitter& out, const RecordedCall& call) {
  const RecordedView& made = call.results[0];
  out.give(call, out.node("Expand",
                          {out.number(call.number("value"), made.dtype), out.ints(made.shape)}));
}

void eye(Emitter& out, const RecordedCall& call) {
  const RecordedView& made = call.results[0];
  // ONNX Runtime has no EyeLike of booleans.
  const DType dtype = made.dtype == DType::Bool ? DType::I64 : made.dtype;
  const std::string like = out.node("Expand", {out.number(0, dtype), out.ints(made.shape)});
  std::string name = out.node("EyeLike", {like}, {{"k", call.integer("k")}});
  if (dtype != made.dtype)
    name = out.node("Cast", {name}, {{"to", static_cast<int64_t>(type_of_dtype(made.dtype))}});
  out.give(call, name);
}

// Computed in double precision, unless it counts from 0.
void arange_of(Emitter& out, const RecordedCall& call) {
  const RecordedView& made = call.results[0];
  const double start = call.number("start"), step = call.number("step");
  const auto as = [&](const std::string& x, DType dtype) {
    return out.node("Cast", {x}, {{"to", static_cast<int64_t>(type_of_dtype(dtype))}});
  };
  std::string numbers = out.range(made.shape[0]);
  const DType within = is_floating(made.dtype) ? DType::F64 : DType::I64;
  if (start == 0 && step == 1)
    return out.give(call, made.dtype == DType::I64 ? numbers : as(numbers, made.dtype));
  if (within == DType::F64) numbers = as(numbers, within);
  numbers = out.node(
      "Add", {out.node("Mul", {numbers, out.number(step, within)}), out.number(start, within)});
  out.give(call, made.dtype == within ? numbers : as(numbers, made.dtype));
}

}  // namespace

void add_moves(std::map<std::string, Emit>& table) {
  table["concat"] = concat;
  table["gather"] = gather;
  table["scatter"] = table["scatter_add"] = table["scatter_reduce"] = scatter;
  table["index_add"] = index_add;
  table["index_select"] = index_select;
  table["embedding"] = embedding;
  table["embedding_bag"] = embedding_bag;
  table["index"] = index;
  table["index_put"] = index_put;
  table["grid_sample"] = grid_sample;
  table["pad"] = pad;
  table["roll"] = roll;
  table["tril"] = table["triu"] = triangle;
  table["full"] = table["full_like"] = full;
  table["arange"] = arange_of;
  table["eye"] = eye;
}

}  // namespace tenon::onnx
