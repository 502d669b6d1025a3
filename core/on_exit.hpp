// What must happen at the end of a block, however it is left.
#pragma once

namespace tenon::core {

template <class Action>
class OnExit {
 public:
  explicit OnExit(Action action) : action_(action) {}
  ~OnExit() { action_(); }
  OnExit(const OnExit&) = delete;
  OnExit& operator=(const OnExit&) = delete;

 private:
  Action action_;
};

}  // namespace tenon::core
