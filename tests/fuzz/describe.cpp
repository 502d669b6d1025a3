#include "call.hpp"

namespace tenon::fuzz {
namespace {

std::string list(const Shape& sizes) {
  std::string text = "(";
  for (size_t d = 0; d < sizes.size(); ++d) text += (d ? ", " : "") + std::to_string(sizes[d]);
  return text + ")";
}

struct Describe {
  std::string operator()(const Nothing&) const { return "none"; }
  std::string operator()(const HostDevice&) const { return "cpu"; }
  std::string operator()(const SameAs& same) const {
    return "argument " + std::to_string(same.arg);
  }
  std::string operator()(const Operand& x) const {
    std::string text = std::string(name_of(x.dtype)) + list(x.shape) + "/" + list(x.strides);
    if (x.sealed) text += x.read_only ? " read-only" : " sealed";
    if (x.unaligned) text += " unaligned";
    if (x.requires_grad) text += " grad";
    return text;
  }
  std::string operator()(const std::vector<std::optional<Operand>>& entries) const {
    std::string text = "[";
    for (size_t k = 0; k < entries.size(); ++k)
      text += (k ? ", " : "") + (entries[k] ? (*this)(*entries[k]) : "none");
    return text + "]";
  }
  std::string operator()(const Shape& ints) const { return list(ints); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return std::to_string(value); }
  std::string operator()(const Complex& value) const { return std::to_string(value.real()) + "+i"; }
  std::string operator()(DType dtype) const { return std::string(name_of(dtype)); }
  std::string operator()(const std::string& text) const {
    return "\"" + (text.size() > 40 ? text.substr(0, 40) + "…" : text) + "\"";
  }
};

}  // namespace

std::string describe(const Signature& signature, const Call& call) {
  std::string text = signature.op + "(";
  for (size_t i = 0; i < call.args.size(); ++i)
    text += (i ? ", " : "") + std::visit(Describe(), call.args[i]);
  text += ")";
  if (call.recording) text += call.twice ? " recorded, twice" : " recorded";
  if (call.into) text += " into";
  return text;
}

}  // namespace tenon::fuzz
