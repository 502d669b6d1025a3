// A descriptor of cuDNN's backend interface as the stand-in stores it: a type, and the attributes that were set.
#pragma once

#include <cudnn.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace fake_cudnn {

struct Descriptor;
using Ref = std::shared_ptr<Descriptor>;

struct Attribute {
  cudnnBackendAttributeType_t type;
  std::vector<char> bytes;
  std::vector<Ref> parts;  // descriptors, in place of numbers
};

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;
  int engine = 0;  // of an engine, or of an engine's configuration
  Ref graph;

  bool has(cudnnBackendAttributeName_t name) const { return attributes.contains(name); }
  template <class T>
  std::vector<T> list(cudnnBackendAttributeName_t name) const {
    const std::vector<char>& bytes = attributes.at(name).bytes;
    std::vector<T> made(bytes.size() / sizeof(T));
    std::memcpy(made.data(), bytes.data(), made.size() * sizeof(T));
    return made;
  }
  template <class T>
  T one(cudnnBackendAttributeName_t name) const {
    T made;
    std::memcpy(&made, attributes.at(name).bytes.data(), sizeof made);
    return made;
  }
  template <class T>
  T one_or(cudnnBackendAttributeName_t name, T otherwise) const {
    return has(name) ? one<T>(name) : otherwise;
  }
  const Ref& part(cudnnBackendAttributeName_t name) const {
    return attributes.at(name).parts.at(0);
  }
};

}  // namespace fake_cudnn
