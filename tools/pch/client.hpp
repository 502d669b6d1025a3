// Precompiled for code on top of the C++ API: the conformance suite.
#include "standard.hpp"
#include "tenon/tenon.hpp"
