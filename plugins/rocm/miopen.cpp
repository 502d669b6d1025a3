#include "miopen.hpp"

#include <string>

#include "capture.hpp"
#include "library.hpp"

namespace tenon::gpu {
namespace {

// Whether it can be used.
bool open_functions(Miopen& functions) {
  static const LibraryAbout about =
      amd_library("MIOpen", {"libMIOpen.so.1"}, "TENON_ROCM_MIOPEN", "convolutions",
                  "the plugin's own kernels", "install ROCm's package miopen-hip");
  std::string reason;
  void* const library = open_rocm_library(about, reason);
#define FUNCTION(name) find(library, #name, functions.name, reason);
#include "miopen_functions.def"
#undef FUNCTION
  conclude(about, library, "", reason);
  return reason.empty();
}

}  // namespace

const Miopen* miopen() { return opened_once<Miopen>(open_functions); }

void check(miopenStatus_t status, const char* what) {
  if (status == miopenStatusSuccess) return;
  const bool lacks = status == miopenStatusNotImplemented || status == miopenStatusUnsupportedOp ||
                     status == miopenStatusBadParm;
  const uint32_t code = lacks                               ? TN_UNIMPLEMENTED
                        : status == miopenStatusAllocFailed ? TN_OUT_OF_MEMORY
                                                            : TN_INTERNAL;
  sdk::fail(code, "[rocm] ", what, ": ", miopen()->miopenGetErrorString(status),
            "; TENON_ROCM_MIOPEN=0 leaves convolutions to the plugin's own kernels");
}

struct MiopenHandle::Shared {
  std::mutex mutex;
  miopenHandle_t handle = nullptr;
  rt::Event done = nullptr;  // reached after everything enqueued so far
  bool used = false;
  rt::Stream stream = nullptr;  // of the current call
};

MiopenHandle::MiopenHandle(uint32_t device)
    : shared_(one_per_device<Shared>(device)), lock_(shared_.mutex) {
  if (shared_.handle != nullptr) return;
  rt::use(device);
  if (shared_.done == nullptr) shared_.done = rt::event_create();
  check(miopen()->miopenCreate(&shared_.handle), "opening MIOpen");
}

MiopenHandle::operator miopenHandle_t() const { return shared_.handle; }

void MiopenHandle::begin(rt::Stream stream) {
  // Each time, because a new stream may have the address of a destroyed one. A graph runs in order with the device's work, so captured work
  // need not wait.
  if (shared_.used && !is_captured(stream)) rt::wait(stream, shared_.done);
  check(miopen()->miopenSetStream(shared_.handle, static_cast<ihipStream_t*>(stream)),
        "choosing a stream");
  shared_.stream = stream;
}

void MiopenHandle::end() {
  if (is_captured(shared_.stream)) return;
  shared_.used = true;
  rt::record(shared_.done, shared_.stream);
}

}  // namespace tenon::gpu
