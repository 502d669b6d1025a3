// Precompiled for what is written over the C++ API: the conformance suite.
#include "standard.hpp"
#include "tenon/tenon.hpp"
