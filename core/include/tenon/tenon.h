/* Everything a host program needs. Plugins include tenon/plugin.h instead. */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include "tenon/autograd.h"
#include "tenon/capture.h"
#include "tenon/device.h"
#include "tenon/history.h"
#include "tenon/op.h"
#include "tenon/plugins.h"
#include "tenon/random.h"
#include "tenon/reinterpret.h"
#include "tenon/tensor.h"

#endif
