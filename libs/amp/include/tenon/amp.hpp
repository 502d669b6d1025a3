// Mixed precision: products in 16 bits, with a scaled loss so that gradients do not underflow (Micikevicius et al. 2018).
#ifndef TENON_AMP_HPP
#define TENON_AMP_HPP

#include "tenon/amp/autocast.hpp"
#include "tenon/amp/grad_scaler.hpp"

#endif
