// Precompiled for the CPU plugin's kernels: their vectors' instructions, and the SDK.
#include <hwy/base.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "standard.hpp"
#include "tenon/plugin.hpp"
