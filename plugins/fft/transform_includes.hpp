// What pocketfft and transform-inl.hpp use of the standard library: included before an instruction set is chosen, since its inline
// functions are shared by all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "../common/parallel.hpp"
#include "transform.hpp"

// Threads are the plugin's own; plans are kept.
#define POCKETFFT_NO_MULTITHREADING
#define POCKETFFT_CACHE_SIZE 16
