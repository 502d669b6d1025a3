// Training: optimizers with parameter groups, schedules of the learning rate, gradient clipping.
#ifndef TENON_OPTIM_HPP
#define TENON_OPTIM_HPP

#include "tenon/optim/clip.hpp"
#include "tenon/optim/lbfgs.hpp"
#include "tenon/optim/optimizers.hpp"
#include "tenon/optim/schedulers.hpp"

#endif
