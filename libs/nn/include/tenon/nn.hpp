// Networks: modules with named parameters, layers, losses, initialisers.
#ifndef TENON_NN_HPP
#define TENON_NN_HPP

#include "tenon/nn/activation.hpp"
#include "tenon/nn/attention.hpp"
#include "tenon/nn/container.hpp"
#include "tenon/nn/conv.hpp"
#include "tenon/nn/init.hpp"
#include "tenon/nn/linear.hpp"
#include "tenon/nn/loss.hpp"
#include "tenon/nn/module.hpp"
#include "tenon/nn/module_of.hpp"
#include "tenon/nn/norm.hpp"
#include "tenon/nn/pool.hpp"
#include "tenon/nn/recurrent.hpp"
#include "tenon/nn/transformer.hpp"

#endif
