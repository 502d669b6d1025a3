// PyTorch's functions of networks under its names:
//
//   namespace F = tenon::nn::functional;
//   Tensor y = F::max_pool2d(F::relu(F::conv2d(x, weight, bias, {.padding = 1})), 2);
//
// Each lies in the header of the module of its name, which calls it. Options are arguments, or fields of a struct where there are many.
// An Error is thrown for shapes and options that do not fit. `reduction` is "mean", "sum" or "none".
#ifndef TENON_NN_FUNCTIONAL_HPP
#define TENON_NN_FUNCTIONAL_HPP

#include "tenon/nn/activation.hpp"
#include "tenon/nn/attention.hpp"
#include "tenon/nn/conv.hpp"
#include "tenon/nn/ctc_loss.hpp"
#include "tenon/nn/distance.hpp"
#include "tenon/nn/dropout.hpp"
#include "tenon/nn/embedding_bag.hpp"
#include "tenon/nn/fractional_pool.hpp"
#include "tenon/nn/linear.hpp"
#include "tenon/nn/loss.hpp"
#include "tenon/nn/margin_loss.hpp"
#include "tenon/nn/nll_loss.hpp"
#include "tenon/nn/norm.hpp"
#include "tenon/nn/padding.hpp"
#include "tenon/nn/pool.hpp"
#include "tenon/nn/resample.hpp"
#include "tenon/nn/spatial.hpp"

#endif
