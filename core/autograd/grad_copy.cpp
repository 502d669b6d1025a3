// Gradients of copies, conversions and triangles; formulas that pass nothing on.
#include "autograd/grad_tools.hpp"

// names of ops.def that stand for no formula
extern const GradFormula tenon::core::grad_none{{}, "none", nullptr};
extern const GradFormula tenon::core::grad_through{{}, "through", nullptr};

// piecewise constant: dx is 0
TN_GRADIENT(zero, {}) { static_cast<void>(c); }

// y = x
TN_GRADIENT(identity, {}) { c.set(0, c.grad()); }

// y = x in another dtype; the engine brings the gradient back
TN_GRADIENT(cast, {}) { c.set(0, c.grad()); }

// y = x on another device
TN_GRADIENT(to, {}) { c.set(0, to(c.grad(), c.device(0))); }

// the part that was kept
TN_GRADIENT(tril, {}) { c.set(0, tril(c.grad(), c.integer(1))); }

// the part that was kept
TN_GRADIENT(triu, {}) { c.set(0, triu(c.grad(), c.integer(1))); }
