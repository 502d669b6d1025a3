// DLPack: tensors to and from other libraries without a copy, in the order of the streams on which they are used.
#include <dlpack/dlpack.h>

#include <memory>
#include <string>
#include <utility>

#include "batch.hpp"
#include "guard.hpp"
#include "tenon/ext/draft/device.h"
#include "tenon/ext/draft/dlpack.h"
#include "tensor.hpp"

namespace tenon::python {
namespace {

struct Legacy {
  DLManagedTensor managed;
  DLManagedTensorVersioned* from;
};

void drop_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor")) {
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    if (managed->deleter != nullptr) managed->deleter(managed);
  } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    auto* managed =
        static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
}

DLManagedTensorVersioned* from_legacy(DLManagedTensor* managed) {
  auto* versioned = new DLManagedTensorVersioned{};
  versioned->version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  versioned->manager_ctx = managed;
  versioned->dl_tensor = managed->dl_tensor;
  versioned->deleter = [](DLManagedTensorVersioned* self) {
    auto* inner = static_cast<DLManagedTensor*>(self->manager_ctx);
    if (inner->deleter != nullptr) inner->deleter(inner);
    delete self;
  };
  return versioned;
}

// Takes what `managed` holds. Bytes that are no bools are copied as numbers and compared with 0.
tn_tensor* import_managed(DLManagedTensorVersioned* managed, bool may_copy) {
  tn_tensor* out = nullptr;
  DLDataType& type = managed->dl_tensor.dtype;
  tn_status* status = tn_tensor_from_dlpack(managed, &out);
  if (status != nullptr && type.code == kDLBool && type.bits == 8 && may_copy) {
    tn_status_release(status);
    type.code = kDLUInt;
    status = tn_tensor_from_dlpack(managed, &out);
    type.code = kDLBool;
    if (status == nullptr) return cast(Tensor::adopt(out), DType::Bool).take();
  }
  detail::check(status);
  return out;
}

// Asks the device's plugin for tn.dlpack and hands it to `use`. False if it has none, as the host.
template <class Use>
bool with_offer(tn_device* device, Use&& use) {
  struct Asked {
    Use& use;
    bool answered;
  } asked{use, false};
  const auto body = [](void* ctx, const tn_extension* given) -> tn_status* {
    auto& self = *static_cast<Asked*>(ctx);
    const auto* table = static_cast<const tn_dlpack*>(given->table);
    self.answered = table != nullptr;
    return table == nullptr ? nullptr : self.use(*table, *given);
  };
  detail::check(
      tn_device_extend(device, detail::to_str(TN_DLPACK_NAME), TN_DLPACK_REVISION, body, &asked));
  return asked.answered;
}

constexpr std::pair<int32_t, int32_t> kHost = {kDLCPU, 0}, kNowhere = {-1, -1};

// DLPack's type and id of a device.
std::pair<int32_t, int32_t> code_of(tn_device* device) {
  if (detail::to_view(tn_device_plugin(device)) == "core") return kHost;
  auto code = kNowhere;
  with_offer(device, [&](const tn_dlpack& table, const tn_extension& given) -> tn_status* {
    code = {table.kind, table.device_id(table.self, given.index)};
    return nullptr;
  });
  return code;
}

tn_device* device_given(PyObject* object) {
  tn_device* device = nullptr;
  if (to_device(object, device)) return device;
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "[dlpack] not a device");
  throw PythonError();
}

template <class T>
T integer(PyObject* object) {
  int beyond = 0;
  const long long value = PyLong_AsLongLongAndOverflow(object, &beyond);
  if (value == -1 && PyErr_Occurred()) throw PythonError();
  if (beyond == 0 && std::in_range<T>(value)) return static_cast<T>(value);
  throw Error(TN_INVALID_ARGUMENT, "[dlpack] a number beyond what DLPack has");
}

}  // namespace

// _to_capsule(versioned): without a version there is no flag for read-only memory, which is refused as NumPy does.
PyObject* tensor_to_capsule(PyObject* self, PyObject* args) {
  if (!Batch::check_readable(handle_of(self), "to_dlpack")) return nullptr;
  int versioned = 0;
  if (!PyArg_ParseTuple(args, "p:_to_capsule", &versioned)) return nullptr;
  DLManagedTensorVersioned* managed = nullptr;
  if (tn_status* status = tn_tensor_to_dlpack(handle_of(self), &managed))
    return raise_status(status);
  if (versioned) {
    PyObject* capsule = PyCapsule_New(managed, "dltensor_versioned", drop_capsule);
    if (capsule == nullptr) managed->deleter(managed);
    return capsule;
  }
  if (managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) {
    managed->deleter(managed);
    PyErr_SetString(PyExc_BufferError,
                    "[to_dlpack] read-only memory needs DLPack 1.0 (max_version); use copy()");
    return nullptr;
  }
  auto* legacy = new (std::nothrow) Legacy{};
  if (legacy == nullptr) {
    managed->deleter(managed);
    return PyErr_NoMemory();
  }
  legacy->from = managed;
  legacy->managed.dl_tensor = managed->dl_tensor;
  legacy->managed.manager_ctx = legacy;
  legacy->managed.deleter = [](DLManagedTensor* old) {
    auto* both = static_cast<Legacy*>(old->manager_ctx);
    both->from->deleter(both->from);
    delete both;
  };
  PyObject* capsule = PyCapsule_New(&legacy->managed, "dltensor", drop_capsule);
  if (capsule == nullptr) legacy->managed.deleter(&legacy->managed);
  return capsule;
}

// _from_capsule(capsule, may_copy=True): takes what is in it; it is renamed, so that nobody takes it twice.
PyObject* from_capsule(PyObject*, PyObject* args) {
  PyObject* capsule = nullptr;
  int may_copy = 1;
  if (!PyArg_ParseTuple(args, "O|p:_from_capsule", &capsule, &may_copy)) return nullptr;
  return guarded([&]() -> PyObject* {
    tn_tensor* out = nullptr;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
      auto* managed = static_cast<DLManagedTensorVersioned*>(
          PyCapsule_GetPointer(capsule, "dltensor_versioned"));
      out = import_managed(managed, may_copy != 0);
      PyCapsule_SetName(capsule, "used_dltensor_versioned");
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
      auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
      std::unique_ptr<DLManagedTensorVersioned> versioned(from_legacy(managed));
      out = import_managed(versioned.get(), may_copy != 0);
      static_cast<void>(versioned.release());
      PyCapsule_SetName(capsule, "used_dltensor");
    } else {
      return PyErr_Format(PyExc_TypeError,
                          "[from_dlpack] needs a DLPack capsule that nobody took yet, not %R",
                          capsule);
    }
    return wrap(out);
  });
}

// _dlpack_device(device) -> (DLPack's type, DLPack's id); None where other libraries have no name for it.
PyObject* dlpack_device(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    const auto code = code_of(device_given(object));
    if (code == kNowhere) Py_RETURN_NONE;
    return Py_BuildValue("ii", code.first, code.second);
  });
}

// _dlpack_queue(DLPack's type, DLPack's id): the stream of the device that is called so, as other libraries know it. None for the host,
// and where no plugin has such a device.
PyObject* dlpack_queue(PyObject*, PyObject* args) {
  PyObject *kind = nullptr, *id = nullptr;
  if (!PyArg_ParseTuple(args, "OO:_dlpack_queue", &kind, &id)) return nullptr;
  return guarded([&]() -> PyObject* {
    const std::pair wanted(integer<int32_t>(kind), integer<int32_t>(id));
    for (uint32_t i = 0; wanted.first != kDLCPU && i < tn_device_count(); ++i) {
      if (code_of(tn_device_at(i)) != wanted) continue;
      int64_t queue = 0;
      with_offer(tn_device_at(i), [&](const tn_dlpack& table, const tn_extension& given) {
        return table.queue_of(table.self, given.stream, &queue);
      });
      return PyLong_FromLongLong(queue);
    }
    Py_RETURN_NONE;
  });
}

// _dlpack_precede(device, queue): what is enqueued on the queue from now on, None for the default one, waits for the device's stream.
PyObject* dlpack_precede(PyObject*, PyObject* args) {
  PyObject *object = nullptr, *number = nullptr;
  if (!PyArg_ParseTuple(args, "OO:_dlpack_precede", &object, &number)) return nullptr;
  return guarded([&]() -> PyObject* {
    const int64_t queue = number == Py_None ? 0 : integer<int64_t>(number);
    tn_device* device = device_given(object);
    if (tn_device_redirected() == device)
      throw Error(TN_FAILED_PRECONDITION, "[__dlpack__] this thread captures a graph of " +
                                              std::string(detail::to_view(tn_device_id(device))) +
                                              ", for which no other library can wait");
    with_offer(device, [&](const tn_dlpack& table, const tn_extension& given) {
      return table.precede(table.self, given.index, given.stream,
                           number == Py_None ? nullptr : &queue);
    });
    Py_RETURN_NONE;
  });
}

}  // namespace tenon::python
