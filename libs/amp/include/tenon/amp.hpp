// Mixed precision: products in half the bits, and gradients that do not vanish in them (Micikevicius et al. 2018).
#ifndef TENON_AMP_HPP
#define TENON_AMP_HPP

#include "tenon/amp/autocast.hpp"
#include "tenon/amp/grad_scaler.hpp"

#endif
