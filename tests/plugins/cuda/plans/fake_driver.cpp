// As much of libcuda as the real cuDNN needs to make plans for an absent device: every call succeeds, cuInit finds no device, and nothing
// can run.
#define SUCCEEDS(name) \
  extern "C" int name() { return 0; }
#define MAKES(name)                  \
  extern "C" int name(void** made) { \
    static char one;                 \
    *made = &one;                    \
    return 0;                        \
  }
#define TELLS(name, value)           \
  extern "C" int name(int* answer) { \
    *answer = value;                 \
    return 0;                        \
  }

extern "C" int cuInit() { return 100; }  // CUDA_ERROR_NO_DEVICE

MAKES(cuCtxGetCurrent)
MAKES(cuCtxPopCurrent)
MAKES(cuDevicePrimaryCtxRetain)
MAKES(cuLibraryGetKernel)
MAKES(cuLibraryLoadData)
MAKES(cuLibraryLoadFromFile)
MAKES(cuLinkCreate)
MAKES(cuLinkCreate_v2)
MAKES(cuModuleGetFunction)
MAKES(cuModuleLoadData)
MAKES(cuModuleLoadDataEx)
MAKES(cuModuleLoadFatBinary)

TELLS(cuCtxGetDevice, 0)
TELLS(cuDeviceGet, 0)
TELLS(cuDeviceGetAttribute, 0)
TELLS(cuDeviceGetCount, 0)
TELLS(cuDriverGetVersion, 13000)
TELLS(cuFuncGetAttribute, 0)
TELLS(cuKernelGetAttribute, 0)
TELLS(cuOccupancyMaxActiveBlocksPerMultiprocessor, 1)
TELLS(cuOccupancyMaxPotentialClusterSize, 1)

SUCCEEDS(cuCtxGetLimit)
SUCCEEDS(cuCtxPushCurrent)
SUCCEEDS(cuDevicePrimaryCtxRelease)
SUCCEEDS(cuDevicePrimaryCtxReset)
SUCCEEDS(cuFuncSetAttribute)
SUCCEEDS(cuGetErrorName)
SUCCEEDS(cuGetErrorString)
SUCCEEDS(cuKernelSetAttribute)
SUCCEEDS(cuLaunchCooperativeKernel)
SUCCEEDS(cuLaunchKernel)
SUCCEEDS(cuLaunchKernelEx)
SUCCEEDS(cuLibraryUnload)
SUCCEEDS(cuLinkAddData)
SUCCEEDS(cuLinkAddData_v2)
SUCCEEDS(cuLinkAddFile_v2)
SUCCEEDS(cuLinkComplete)
SUCCEEDS(cuLinkDestroy)
SUCCEEDS(cuMemcpyDtoH_v2)
SUCCEEDS(cuModuleGetGlobal_v2)
SUCCEEDS(cuModuleUnload)
SUCCEEDS(cuStreamGetCtx)
SUCCEEDS(cuStreamSynchronize)
SUCCEEDS(cuTensorMapEncodeTiled)
