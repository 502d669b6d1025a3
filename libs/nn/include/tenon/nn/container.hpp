// Modules made of modules.
#ifndef TENON_NN_CONTAINER_HPP
#define TENON_NN_CONTAINER_HPP

#include "tenon/nn/module.hpp"

namespace tenon::nn {

// One after another: Sequential(Flatten(), Linear(784, 10)). Parts are named "0", "1", … or as
// push() says.
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

}  // namespace tenon::nn
#endif
