// Precompiled for the extension.
#define PY_SSIZE_T_CLEAN
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "../../tools/pch/client.hpp"
