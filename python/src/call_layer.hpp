// A layer over the calls of a thread, for those that Python switches on and off.
#pragma once

#include <nanobind/nanobind.h>

#include "object.hpp"
#include "tenon/op.h"

namespace tenon::python {

// Sees the calls of this thread between enter() and leave().
class CallLayer {
 public:
  CallLayer(const CallLayer&) = delete;
  void enter() {
    if (tn_status* status = tn_call_layer_push(&table_)) {
      raise_status(status);
      throw nanobind::python_error();
    }
    entered_ = true;
  }
  void leave() {
    if (entered_) tn_status_release(tn_call_layer_pop(&table_));
    entered_ = false;
  }

 protected:
  explicit CallLayer(void* self) {
    table_.struct_size = sizeof table_;
    table_.ctx = self;
  }
  ~CallLayer() { leave(); }

  tn_call_layer table_{};
  bool entered_ = false;
};

// The interpreter lock inside a function that the core calls.
class Locked {
 public:
  Locked() : state_(PyGILState_Ensure()) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace tenon::python
