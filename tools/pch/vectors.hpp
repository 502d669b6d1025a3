// Precompiled for the CPU plugin. Without the vectors' instructions: GCC forgets for a precompiled header which warnings Highway
// switches off around them.
#include <hwy/base.h>

#include "standard.hpp"
#include "tenon/plugin.hpp"
