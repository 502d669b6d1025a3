// Networks: modules with named parameters, layers, losses, initialisers.
#ifndef TENON_NN_HPP
#define TENON_NN_HPP

#include "tenon/nn/activation.hpp"
#include "tenon/nn/adaptive.hpp"
#include "tenon/nn/attention.hpp"
#include "tenon/nn/container.hpp"
#include "tenon/nn/conv.hpp"
#include "tenon/nn/ctc_loss.hpp"
#include "tenon/nn/distance.hpp"
#include "tenon/nn/dropout.hpp"
#include "tenon/nn/embedding_bag.hpp"
#include "tenon/nn/fractional_pool.hpp"
#include "tenon/nn/functional.hpp"
#include "tenon/nn/init.hpp"
#include "tenon/nn/linear.hpp"
#include "tenon/nn/loss.hpp"
#include "tenon/nn/margin_loss.hpp"
#include "tenon/nn/module.hpp"
#include "tenon/nn/module_of.hpp"
#include "tenon/nn/nll_loss.hpp"
#include "tenon/nn/norm.hpp"
#include "tenon/nn/packed.hpp"
#include "tenon/nn/padding.hpp"
#include "tenon/nn/pool.hpp"
#include "tenon/nn/quantized.hpp"
#include "tenon/nn/recurrent.hpp"
#include "tenon/nn/resample.hpp"
#include "tenon/nn/spatial.hpp"
#include "tenon/nn/transformer.hpp"
#include "tenon/nn/vector.hpp"

#endif
