// The HIP runtime as runtime.hpp, through the table of hip.hpp.
#include "runtime.hpp"

#include <cstdlib>
#include <string_view>

#include "backend.hpp"
#include "code_for.hpp"
#include "dlpack.hpp"
#include "hip.hpp"
#include "vendor_runtime.hpp"

namespace tenon::gpu::rt {
namespace {

// "gfx90a:sramecc+:xnack-"
uint32_t architecture_of(const char* name) {
  constexpr std::string_view kPrefix = "gfx";
  if (!std::string_view(name).starts_with(kPrefix)) return 0;
  return static_cast<uint32_t>(std::strtoul(name + kPrefix.size(), nullptr, 16));
}

}  // namespace

const char* const kName = "rocm";

const int32_t kDlpackKind = 10;
Stream queue_of(const int64_t* number) {
  if (number == nullptr) return nullptr;  // the default stream
  if (*number < 0 || *number == 1 || *number == 2)
    sdk::fail(TN_INVALID_ARGUMENT, "[rocm] DLPack knows no stream ", *number,
              ": give 0 for the default stream, or a handle");
  return reinterpret_cast<Stream>(*number);
}

std::vector<Device> devices(std::string& reason) {
  if (open_hip(reason) == nullptr) return {};
  int count = 0;
  if (const hipError_t error = hip().hipGetDeviceCount(&count); error != hipSuccess || count == 0) {
    forget_error();
    reason =
        count == 0 ? "no AMD GPU that the HIP runtime can use" : hip().hipGetErrorString(error);
    return {};
  }
  std::vector<Device> made;
  for (int i = 0; i < count; ++i) {
    const auto attribute = [&](hipDeviceAttribute_t which) {
      int value = 0;
      check(hip().hipDeviceGetAttribute(&value, which, i), "asking for a device's properties");
      return static_cast<uint32_t>(value);
    };
    Device device;
    char text[256] = {};
    check(hip().hipDeviceGetName(text, sizeof text, i), "asking for a device's name");
    device.name = text;
    check(hip().hipDeviceGetPCIBusId(text, sizeof text, i), "asking for a device's place");
    device.pci_id = text;
    hipDeviceProp_t properties{};
    check(hip().hipGetDeviceProperties(&properties, i), "asking for a device's architecture");
    device.architecture = architecture_of(properties.gcnArchName);
    size_t bytes = 0;
    check(hip().hipDeviceTotalMem(&bytes, i), "asking for a device's memory");
    device.memory = bytes;
    device.kind = attribute(hipDeviceAttributeIntegrated) != 0 ? TN_DEVICE_KIND_INTEGRATED_GPU
                                                               : TN_DEVICE_KIND_GPU;
    device.compute_units = attribute(hipDeviceAttributeMultiprocessorCount);
    device.warp_width = attribute(hipDeviceAttributeWarpSize);
    device.shared_bytes = attribute(hipDeviceAttributeMaxSharedMemoryPerBlock);
    // 64 multiply-adds per cycle in each compute unit; the clock is in kHz.
    device.peak_flops =
        uint64_t{2000} * 64 * attribute(hipDeviceAttributeClockRate) * device.compute_units;
    made.push_back(device);
  }
  return made;
}

// Machine code of AMD's runs on its own architecture alone.
uint32_t code_for(uint32_t architecture) { return architecture; }

}  // namespace tenon::gpu::rt
