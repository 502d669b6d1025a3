#include "hip.hpp"

#include <deque>
#include <mutex>
#include <vector>

#include "library.hpp"

// Calls that clang compiles into every file with kernels: before main, they register its code with the runtime. The runtime is not open
// yet, so the calls are stored and repeated once it is.
namespace tenon::gpu {
namespace {

struct Function {
  const void* stub;  // the host function that represents the kernel
  char* device_name;
  const char* name;
  unsigned threads;
};
struct FatBinary {
  const void* image;
  std::vector<Function> functions;
};

std::deque<FatBinary>& binaries() {
  static std::deque<FatBinary>& all = *new std::deque<FatBinary>;
  return all;
}

struct Configuration {
  dim3 blocks, threads;
  size_t shared_bytes;
  hipStream_t stream;
};
thread_local Configuration configuration;

struct Opened {
  Hip hip;
  std::string reason;
  bool open = false;
};

bool hand_over(void* library, std::string& reason) {
  void** (*register_binary)(const void*) = nullptr;
  void (*register_function)(void**, const void*, char*, const char*, unsigned, void*, void*, void*,
                            void*, int*) = nullptr;
  if (!find(library, "__hipRegisterFatBinary", register_binary, reason) ||
      !find(library, "__hipRegisterFunction", register_function, reason))
    return false;
  for (const FatBinary& binary : binaries()) {
    void** const modules = register_binary(binary.image);
    for (const Function& f : binary.functions)
      register_function(modules, f.stub, f.device_name, f.name, f.threads, nullptr, nullptr,
                        nullptr, nullptr, nullptr);
  }
  return true;
}

Opened open_runtime() {
  Opened made;
  const std::string name = "libamdhip64.so." + std::to_string(HIP_VERSION_MAJOR);
  // Never closed: drivers do not survive it.
  void* const library =
      open_library(amd_library("HIP", {name}, "TENON_ROCM_HIP", "", "", ""), made.reason);
#define FUNCTION(name) find(library, #name, made.hip.name, made.reason);
#include "hip_functions.def"
  FUNCTION(hipMalloc)
  FUNCTION(hipHostMalloc)
#undef FUNCTION
  constexpr const char* kProperties =
      HIP_VERSION_MAJOR >= 6 ? "hipGetDevicePropertiesR0600" : "hipGetDeviceProperties";
  made.open = find(library, kProperties, made.hip.hipGetDeviceProperties, made.reason) &&
              hand_over(library, made.reason);
  if (!made.open) made.reason = "no HIP runtime: " + made.reason;
  return made;
}

const Opened& opened() {
  static const Opened one = open_runtime();
  return one;
}

}  // namespace

const Hip* open_hip(std::string& reason) {
  reason = opened().reason;
  return opened().open ? &opened().hip : nullptr;
}

const Hip& hip() { return opened().hip; }

}  // namespace tenon::gpu

extern "C" {

void** __hipRegisterFatBinary(const void* image) {
  auto& all = tenon::gpu::binaries();
  all.push_back({image, {}});
  return reinterpret_cast<void**>(&all.back());
}

void __hipUnregisterFatBinary(void**) {}  // the process ends

void __hipRegisterFunction(void** binary, const void* stub, char* device_name, const char* name,
                           unsigned threads, void*, void*, void*, void*, int*) {
  reinterpret_cast<tenon::gpu::FatBinary*>(binary)->functions.push_back(
      {stub, device_name, name, threads});
}

hipError_t __hipPushCallConfiguration(dim3 blocks, dim3 threads, size_t shared_bytes,
                                      hipStream_t stream) {
  tenon::gpu::configuration = {blocks, threads, shared_bytes, stream};
  return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3* blocks, dim3* threads, size_t* shared_bytes,
                                     hipStream_t* stream) {
  *blocks = tenon::gpu::configuration.blocks;
  *threads = tenon::gpu::configuration.threads;
  *shared_bytes = tenon::gpu::configuration.shared_bytes;
  *stream = tenon::gpu::configuration.stream;
  return hipSuccess;
}

hipError_t hipLaunchKernel(const void* stub, dim3 blocks, dim3 threads, void** arguments,
                           size_t shared_bytes, hipStream_t stream) {
  return tenon::gpu::hip().hipLaunchKernel(stub, blocks, threads, arguments, shared_bytes, stream);
}

}  // extern "C"
