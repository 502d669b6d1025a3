// Tenon's C++ API.
#ifndef TENON_TENON_HPP
#define TENON_TENON_HPP

#include "tenon/autograd.hpp"
#include "tenon/capture.hpp"
#include "tenon/checkpoint.hpp"
#include "tenon/creation.hpp"
#include "tenon/function.hpp"
#include "tenon/op.hpp"
#include "tenon/plugins.hpp"
#include "tenon/print.hpp"
#include "tenon/tensor.hpp"
#include "tenon/threads.hpp"

#endif
