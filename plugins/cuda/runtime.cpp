// The CUDA runtime as runtime.hpp. It is linked statically and opens the driver at the first call.
#include "runtime.hpp"

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include "backend.hpp"
#include "code_for.hpp"
#include "compiled.hpp"
#include "dlpack.hpp"
#include "range.hpp"
#include "vendor_runtime.hpp"

namespace tenon::gpu {
namespace {

std::string version_of(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

// Asks the driver whether it exists, and for which CUDA.
std::string without_driver() {
  int driver = 0;
  const std::string wanted = version_of(CUDART_VERSION);
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return "no NVIDIA driver that CUDA " + wanted + " can use";
  return "the NVIDIA driver is for CUDA " + version_of(driver) +
         ", older than this plugin's: update it to one for CUDA " + wanted;
}

constexpr uint32_t kCompiled[] = {TENON_SM_ARCHS};

// " (sm_75, sm_80)"
std::string compiled_architectures() {
  std::string text;
  for (const uint32_t one : kCompiled)
    text += (text.empty() ? " (sm_" : ", sm_") + std::to_string(one);
  return text + ")";
}

// Devices that have no kernels. If there are no others, nothing is offered; otherwise launches on them fail.
void tell_unsuited(std::vector<rt::Device>& made, std::string& reason) {
  std::string unsuited;
  size_t count = 0;
  for (const rt::Device& device : made) {
    if (compiled_for(device.architecture, kCompiled) != 0) continue;
    unsuited +=
        (++count == 1 ? "" : ", ") + device.name + " is sm_" + std::to_string(device.architecture);
  }
  if (count == 0) return;
  reason = "no GPU that this plugin was compiled for" + compiled_architectures() + ": " + unsuited;
  if (count == made.size()) return made.clear();
  const std::string text = "[cuda] a " + reason.substr(3);
  sdk::host()->log(2, sdk::str_of(text));
  reason.clear();
}

// f32 multiply-adds per cycle in a multiprocessor: CUDA C++ Programming Guide, "Arithmetic Instructions".
int f32_lanes(int major, int minor) {
  if (major == 7) return 64;
  if (major == 8) return minor == 0 ? 64 : 128;
  return 128;
}

}  // namespace

namespace rt {

const char* const kName = "cuda";

std::vector<Device> devices(std::string& reason) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    forget_error();
    reason = error == cudaErrorInsufficientDriver ? without_driver() : cudaGetErrorString(error);
    return {};
  }
  std::vector<Device> made;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p;
    check(cudaGetDeviceProperties(&p, i), "asking for a device's properties");
    Device device;
    device.name = p.name;
    char id[32] = {};
    check(cudaDeviceGetPCIBusId(id, sizeof id, i), "asking for a device's place");
    device.pci_id = id;
    device.kind = p.integrated != 0 ? TN_DEVICE_KIND_INTEGRATED_GPU : TN_DEVICE_KIND_GPU;
    device.memory = p.totalGlobalMem;
    device.compute_units = static_cast<uint32_t>(p.multiProcessorCount);
    device.warp_width = static_cast<uint32_t>(p.warpSize);
    device.shared_bytes = static_cast<uint32_t>(p.sharedMemPerBlock);
    device.architecture = static_cast<uint32_t>(p.major * 10 + p.minor);
    int kilohertz = 0;
    check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, i),
          "asking for a device's clock");
    device.peak_flops = uint64_t{2000} * static_cast<uint64_t>(kilohertz) * device.compute_units *
                        static_cast<uint64_t>(f32_lanes(p.major, p.minor));
    made.push_back(device);
  }
  tell_unsuited(made, reason);
  return made;
}

uint32_t code_for(uint32_t architecture) { return compiled_for(architecture, kCompiled); }

const int32_t kDlpackKind = 2;
// The handles of CUDA's two default streams are the numbers that DLPack gives them; 0 could be either.
Stream queue_of(const int64_t* number) {
  if (number == nullptr) return cudaStreamLegacy;
  if (*number <= 0)
    sdk::fail(TN_INVALID_ARGUMENT, "[cuda] DLPack knows no stream ", *number,
              ": give 1 for the default stream, 2 for that of the thread, or a handle");
  return reinterpret_cast<Stream>(*number);
}

void range_push(const char* name) noexcept { nvtxRangePushA(name); }
void range_pop() noexcept { nvtxRangePop(); }

}  // namespace rt
}  // namespace tenon::gpu
