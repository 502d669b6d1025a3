// Modules made of modules.
#ifndef TENON_NN_CONTAINER_HPP
#define TENON_NN_CONTAINER_HPP

#include "tenon/nn/module.hpp"

namespace tenon::nn {

// One after another: Sequential(Flatten(), Linear(784, 10)). Parts are named "0", "1", … or
// as push() says.
class Sequential : public Module {
 public:
  template <class... Parts>
  requires(std::derived_from<Parts, Module>&&...) explicit Sequential(Parts... parts) {
    (push(std::move(parts)), ...);
  }
  Sequential(Sequential&&) = default;
  Sequential& operator=(Sequential&&) = default;

  template <std::derived_from<Module> Part>
  Sequential& push(Part part) {
    return push(std::to_string(parts_.size()), std::move(part));
  }
  template <std::derived_from<Module> Part>
  Sequential& push(const std::string& name, Part part) {
    auto owned = std::make_unique<Part>(std::move(part));
    add_part(name, *owned);
    parts_.push_back(std::move(owned));
    return *this;
  }

  Tensor forward(const Tensor& x) override {
    return naming_layers([&] {
      Tensor y = x;
      for (const auto& part : parts_) y = (*part)(y);
      return y;
    });
  }
  std::string describe() const override { return "Sequential"; }
  size_t size() const { return parts_.size(); }
  Module& operator[](size_t i) const { return *parts_.at(i); }

 private:
  std::vector<std::unique_ptr<Module>> parts_;
};

// A list of parts of one type, used as the owner likes.
template <std::derived_from<Module> Part>
class ModuleList : public Module {
 public:
  ModuleList() = default;
  Part& push(Part part) {
    parts_.push_back(std::make_unique<Part>(std::move(part)));
    add_part(std::to_string(parts_.size() - 1), *parts_.back());
    return *parts_.back();
  }
  std::string describe() const override { return "ModuleList"; }
  size_t size() const { return parts_.size(); }
  Part& operator[](size_t i) const { return *parts_.at(i); }

 private:
  std::vector<std::unique_ptr<Part>> parts_;
};

// Parts of one type by name, in the order in which they came.
template <std::derived_from<Module> Part>
class ModuleDict : public Module {
 public:
  ModuleDict() = default;
  Part& insert(const std::string& name, Part part) {
    auto owned = std::make_unique<Part>(std::move(part));
    add_part(name, *owned);
    parts_.emplace_back(name, std::move(owned));
    return *parts_.back().second;
  }
  std::string describe() const override { return "ModuleDict"; }
  size_t size() const { return parts_.size(); }
  bool contains(const std::string& name) const { return find(name) != nullptr; }
  Part& operator[](const std::string& name) const {
    Part* found = find(name);
    if (found == nullptr)
      throw Error(TN_NOT_FOUND, "[ModuleDict] no part is called \"" + name + '"');
    return *found;
  }

 private:
  Part* find(const std::string& name) const {
    for (const auto& [own, part] : parts_)
      if (own == name) return part.get();
    return nullptr;
  }
  std::vector<std::pair<std::string, std::unique_ptr<Part>>> parts_;
};

// Parameters named "0", "1", …, used as the owner likes.
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
  const Parameter& operator[](size_t i) const { return parameters_.at(i); }

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace tenon::nn
#endif
