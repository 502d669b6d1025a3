// Precompiled where units format text: libtenon, the validating layer.
#include <fmt/core.h>

#include "standard.hpp"
