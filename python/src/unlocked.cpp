// Work without the interpreter lock.
#include <unistd.h>

#include <utility>
#include <vector>

#include "object.hpp"

namespace tenon::python {
namespace {

// The lock guards both.
size_t at_work = 0;
std::vector<tn_tensor*> put_off;

// An interpreter that ends stops other threads by unwinding them, which destructors would turn into abort(): they stay here
// until the process is gone, as from Python 3.14 on.
struct Stay {
  bool unwinds = true;
  ~Stay() {
    while (unwinds) pause();
  }
};

}  // namespace

PyThreadState* Unlocked::leave() {
  ++at_work;
  return PyEval_SaveThread();
}

void Unlocked::enter(PyThreadState* state) {
  {
    Stay stay;
    PyEval_RestoreThread(state);
    stay.unwinds = false;
  }
  if (--at_work > 0 || put_off.empty()) return;
  for (tn_tensor* tensor : std::exchange(put_off, {})) tn_tensor_release(tensor);
}

void Unlocked::release_later(tn_tensor* tensor) {
  if (at_work > 0)
    put_off.push_back(tensor);
  else
    tn_tensor_release(tensor);
}

}  // namespace tenon::python
