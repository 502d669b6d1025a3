// Constants: weights, numbers, and numbers that nodes compute from the sizes of a run.
#include "export/shared.hpp"
#include "model/files.hpp"
#include "tenon/creation.hpp"

namespace tenon::onnx {

std::string Emitter::weight(const Tensor& tensor, const std::string& name) {
  const Tensor on_host = tensor.cpu().contiguous();
  if (!name.empty()) return initializer(on_host, name);
  if (shared_->sketch) {
    shared_->sketch->constants.emplace_back(shared_->op, on_host);
    return fresh("constant");
  }
  if (shared_->following != nullptr && !shared_->computes_sizes) {
    const auto found = shared_->following->constants.find(shared_->unnamed++);
    if (found != shared_->following->constants.end()) return followed(on_host, found->second);
  }
  if (on_host.nbytes() > 256) return initializer(on_host, "constant");
  // Small constants are written once and shared.
  std::string key(on_host.nbytes(), '\0');
  on_host.to_host(key.data(), key.size());
  key += name_of(on_host.dtype());
  for (const int64_t size : on_host.shape()) key += "," + std::to_string(size);
  std::string& known = shared_->constants[key];
  if (known.empty()) known = initializer(on_host, "constant");
  return known;
}

std::string Emitter::initializer(const Tensor& on_host, const std::string& name) {
  std::string made = fresh(name);
  if (shared_->sketch) return made;
  std::string bytes(on_host.nbytes(), '\0');
  on_host.to_host(bytes.data(), bytes.size());
  Writer proto;
  for (const int64_t size : on_host.shape()) proto.number(1, size);
  proto.number(2, static_cast<int64_t>(type_of_dtype(on_host.dtype())));
  shared_->outermost.message(5, proto.bytes(8, made).bytes(9, bytes));
  return made;
}

// Sizes are vectors of one element in the outermost graph, where all inner graphs see them.
std::string Emitter::size(uint32_t index) {
  if (shared_->sizes.contains(index)) return shared_->sizes[index];
  const Sizes& sizes = *shared_->following->sizes;
  const auto dims = static_cast<uint32_t>(sizes.dims().size());
  std::string made;
  if (index < dims) {
    for (size_t i = 0; i < sizes.inputs().size() && made.empty(); ++i)
      for (size_t d = 0; d < sizes.inputs()[i].size() && made.empty(); ++d)
        if (sizes.inputs()[i][d] == static_cast<int32_t>(index))
          made = node("Shape", {shared_->inputs.at(i)},
                      {{"start", static_cast<int64_t>(d)}, {"end", static_cast<int64_t>(d + 1)}});
  } else {
    const Json& formula = sizes.formula(index - dims);
    const auto is = formula.at("is").get<std::string>();
    made = sum_of(formula.at("terms"));
    if (is != "sum")
      made = node(is == "floor" ? "Div"
                  : is == "min" ? "Min"
                                : "Max",
                  {made, ints({formula.at("by").get<int64_t>()})});
  }
  return shared_->sizes[index] = made;
}

std::string Emitter::sum_of(const Json& terms) {
  std::string sum;
  for (const Json& term : terms) {
    const std::string product =
        product_of(term.at(0).get<int64_t>(), term.at(1).get<std::vector<uint32_t>>());
    sum = sum.empty() ? product : node("Add", {sum, product});
  }
  return sum.empty() ? ints({0}) : sum;
}

std::string Emitter::product_of(int64_t factor, const std::vector<uint32_t>& of) {
  std::string product = factor == 1 && !of.empty() ? "" : ints({factor});
  for (const uint32_t one : of)
    product = product.empty() ? size(one) : node("Mul", {product, size(one)});
  return product;
}

std::string Emitter::followed(const Tensor& like, const std::vector<Follows>& elements) {
  using Form = Follows::Form;
  Writer* const here = std::exchange(graph_, &shared_->outermost);
  shared_->computes_sizes = true;
  Names parts;
  std::vector<int64_t> plain;  // consecutive elements that do not vary
  const auto put_plain = [&] {
    if (!plain.empty()) parts.push_back(ints(std::exchange(plain, {})));
  };
  for (const Follows& one : elements) {
    if (one.terms.empty()) {
      plain.push_back(one.offset);
      continue;
    }
    put_plain();
    std::string sum;
    for (const Follows::Term& term : one.terms) {
      const std::string product = product_of(term.factor, term.of);
      sum = sum.empty() ? product : node("Add", {sum, product});
    }
    parts.push_back(one.offset == 0 ? sum : node("Add", {sum, ints({one.offset})}));
  }
  put_plain();
  std::string made = parts.size() == 1 ? parts[0] : node("Concat", parts, {{"axis", int64_t{0}}});
  if (like.ndim() == 0) made = node("Squeeze", {made});
  if (like.dtype() != DType::I64)
    made = node("Cast", {made}, {{"to", static_cast<int64_t>(type_of_dtype(like.dtype()))}});
  const Form form = elements[0].form;
  if (form == Form::Root || form == Form::ReciprocalRoot) made = node("Sqrt", {made});
  if (form == Form::Reciprocal || form == Form::ReciprocalRoot) made = node("Reciprocal", {made});
  if (form == Form::Log) made = node("Log", {made});
  if (elements[0].factor != 1) made = node("Mul", {made, number(elements[0].factor, like.dtype())});
  graph_ = here;
  shared_->computes_sizes = false;
  return made;
}

}  // namespace tenon::onnx
