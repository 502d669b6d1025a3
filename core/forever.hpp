// What the core never destroys: its host's static objects may still release tensors when they are destroyed.
#pragma once

namespace tenon::core {

// The process's only T, made at the first call.
template <class T>
T& forever() {
  static T& made = *new T;
  return made;
}

}  // namespace tenon::core
