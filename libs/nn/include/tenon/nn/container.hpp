// Modules that contain modules.
#ifndef TENON_NN_CONTAINER_HPP
#define TENON_NN_CONTAINER_HPP

#include "tenon/nn/module_of.hpp"

namespace tenon::nn {

namespace detail {
// A part held by pointer, so that its address stays the same. It is copied with its owner.
class Held {
 public:
  template <std::derived_from<AnyModule> Part>
  explicit Held(Part part) : part_(std::make_unique<Part>(std::move(part))), copy_(copy<Part>) {}
  Held(const Held& other) : part_(other.copy_(*other)), copy_(other.copy_) {}
  Held(Held&&) noexcept = default;
  Held& operator=(Held&&) noexcept = default;
  Held& operator=(const Held&) = delete;
  ~Held() = default;
  AnyModule& operator*() const { return *part_; }
  AnyModule* operator->() const { return part_.get(); }

 private:
  template <class Part>
  static AnyModule* copy(const AnyModule& part) {
    if constexpr (std::copy_constructible<Part>)
      return new Part(static_cast<const Part&>(part));
    else
      throw Error(TN_FAILED_PRECONDITION,
                  "[clone] " + part.describe() + " has fields that cannot be copied");
  }
  std::unique_ptr<AnyModule> part_;
  AnyModule* (*copy_)(const AnyModule&);
};
template <class Thing>
const Thing& at(const char* where, const std::vector<Thing>& things, size_t i) {
  if (i >= things.size())
    throw Error(TN_OUT_OF_RANGE, "[" + std::string(where) + "] there is no element " +
                                     std::to_string(i) + " of " + std::to_string(things.size()));
  return things[i];
}
// Named values in insertion order.
template <class Thing>
class Named {
 public:
  Thing& insert(const std::string& name, Thing thing) {
    return things_.emplace_back(name, std::move(thing)).second;
  }
  size_t size() const { return things_.size(); }
  const Thing* find(const std::string& name) const {
    for (const auto& [own, thing] : things_)
      if (own == name) return &thing;
    return nullptr;
  }
  const Thing& at(const char* where, const std::string& name) const {
    const Thing* found = find(name);
    if (found == nullptr)
      throw Error(TN_NOT_FOUND, "[" + std::string(where) + "] nothing is called \"" + name + '"');
    return *found;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> names;
    for (const auto& [name, thing] : things_) names.push_back(name);
    return names;
  }

 private:
  std::vector<std::pair<std::string, Thing>> things_;
};
}  // namespace detail

// Calls its parts in order, each with the result of the previous one. Parts are named "0", "1", … or as push() says. Sequential takes and
// returns one tensor; SequentialOf<Tensor(const Tensor&, const Tensor&)> begins with a part that takes two.
template <class Signature>
class SequentialOf;
template <class Result, class... Args>
class SequentialOf<Result(Args...)> : public ModuleOf<Result(Args...)> {
 public:
  template <class... Parts>
  requires(std::derived_from<Parts, AnyModule>&&...) explicit SequentialOf(Parts... parts) {
    (push(std::move(parts)), ...);
  }
  SequentialOf(SequentialOf&&) noexcept = default;
  SequentialOf& operator=(SequentialOf&&) noexcept = default;
  SequentialOf(const SequentialOf&) = default;

  template <std::derived_from<AnyModule> Part>
  SequentialOf& push(Part part) {
    return push(std::to_string(parts_.size()), std::move(part));
  }
  template <std::derived_from<AnyModule> Part>
  SequentialOf& push(const std::string& name, Part part) {
    detail::Held held(std::move(part));
    this->add_part(name, *held);
    parts_.push_back(std::move(held));
    return *this;
  }

  Result forward(Args... args) override {
    if constexpr (std::same_as<Result(Args...), Tensor(const Tensor&)>) {
      Tensor y(args...);
      for (const auto& part : parts_) y = (*part)(y);
      return y;
    } else {
      std::vector<Tensor> tensors = detail::tensors_of(args...);
      for (const auto& part : parts_) tensors = part->call(tensors);
      Result result;
      if (detail::set_tensors(tensors, result) < tensors.size())
        throw Error(TN_INVALID_ARGUMENT, "[nn] Sequential's last module returns " +
                                             std::to_string(tensors.size()) +
                                             " tensors, more than Sequential's result type holds");
      return result;
    }
  }
  std::string describe() const override { return "Sequential"; }
  size_t size() const { return parts_.size(); }
  AnyModule& operator[](size_t i) const { return *detail::at("Sequential", parts_, i); }

 private:
  std::vector<detail::Held> parts_;
};
using Sequential = SequentialOf<Tensor(const Tensor&)>;

// A list of parts of one type; their owner calls them.
template <std::derived_from<AnyModule> Part>
class ModuleList : public Module {
 public:
  ModuleList() = default;
  Part& push(Part part) {
    parts_.push_back(detail::Held(std::move(part)));
    add_part(std::to_string(parts_.size() - 1), *parts_.back());
    return (*this)[parts_.size() - 1];
  }
  std::string describe() const override { return "ModuleList"; }
  size_t size() const { return parts_.size(); }
  Part& operator[](size_t i) const {
    return static_cast<Part&>(*detail::at("ModuleList", parts_, i));
  }

 private:
  std::vector<detail::Held> parts_;
};

// Named parts of one type, in insertion order.
template <std::derived_from<AnyModule> Part>
class ModuleDict : public Module {
 public:
  ModuleDict() = default;
  Part& insert(const std::string& name, Part part) {
    detail::Held held(std::move(part));
    add_part(name, *held);
    return static_cast<Part&>(*parts_.insert(name, std::move(held)));
  }
  std::string describe() const override { return "ModuleDict"; }
  size_t size() const { return parts_.size(); }
  bool contains(const std::string& name) const { return parts_.find(name) != nullptr; }
  Part& operator[](const std::string& name) const {
    return static_cast<Part&>(*parts_.at("ModuleDict", name));
  }
  std::vector<std::string> keys() const { return parts_.keys(); }

 private:
  detail::Named<detail::Held> parts_;
};

// Parameters named "0", "1", …; their owner uses them.
class ParameterList : public Module {
 public:
  ParameterList() = default;
  explicit ParameterList(std::vector<Tensor> parameters) {
    for (Tensor& parameter : parameters) push(std::move(parameter));
  }
  const Parameter& push(Tensor parameter) {
    parameters_.push_back(add_parameter(std::to_string(parameters_.size()), std::move(parameter)));
    return parameters_.back();
  }
  std::string describe() const override { return "ParameterList"; }
  size_t size() const { return parameters_.size(); }
  const Parameter& operator[](size_t i) const {
    return detail::at("ParameterList", parameters_, i);
  }

 private:
  std::vector<Parameter> parameters_;
};

// Named parameters, in insertion order.
class ParameterDict : public Module {
 public:
  ParameterDict() = default;
  const Parameter& insert(const std::string& name, Tensor parameter) {
    return parameters_.insert(name, add_parameter(name, std::move(parameter)));
  }
  std::string describe() const override { return "ParameterDict"; }
  size_t size() const { return parameters_.size(); }
  bool contains(const std::string& name) const { return parameters_.find(name) != nullptr; }
  const Parameter& operator[](const std::string& name) const {
    return parameters_.at("ParameterDict", name);
  }
  std::vector<std::string> keys() const { return parameters_.keys(); }

 private:
  detail::Named<Parameter> parameters_;
};

// A function as a module: Functional([](const Tensor& x) { return x.square(); }), or with further arguments: Functional(leaky_relu, 0.2).
template <class Signature>
class FunctionalOf;
template <class Result, class... Args>
class FunctionalOf<Result(Args...)> : public ModuleOf<Result(Args...)> {
 public:
  template <class Fn, class... More>
  requires(!std::derived_from<Fn, AnyModule>) explicit FunctionalOf(Fn fn, More... more)
      : fn_([fn = std::move(fn), ... more = std::move(more)](Args... args) {
          return fn(args..., more...);
        }) {}
  Result forward(Args... args) override { return fn_(args...); }
  std::string describe() const override { return "Functional"; }

 private:
  std::function<Result(Args...)> fn_;
};
using Functional = FunctionalOf<Tensor(const Tensor&)>;

}  // namespace tenon::nn
#endif
