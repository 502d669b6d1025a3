#version 460
// An optimizer's step for one parameter, by CODE: the order of Step in ops/step.cpp. Slots: parameter, gradient, states. Words: elements,
// then the numbers of a step.
// Computes in F32, F64; one op of many by a constant.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint DTYPE = 11;
layout(constant_id = 3) const uint STATES = 0;

#ifdef TN_F64
C param(uint k) { return packDouble2x32(uvec2(push.word[1u + 2u * k], push.word[2u + 2u * k])); }
#else
C param(uint k) { return real_word(1u + 2u * k); }
#endif

// Numbers: learning rate, momentum, share of the gradient, weight decay, Nesterov's momentum, whether it is the first step.
void sgd(inout C p, C g, inout C s) {
  g += param(3) * p;
  if (CODE != 0) {
    s = (param(5) != C(0.0) ? C(0.0) : param(1) * s) + param(2) * g;  // the buffer is undefined in the first step
    g = CODE == 2 ? g + param(4) * s : s;
  }
  p -= param(0) * g;
}

// Numbers: beta1, beta2, eps, weight decay, the factor that decays the parameter, step size, square root of the second moment's correction.
void adam(inout C p, C g, inout C s0, inout C s1, inout C s2) {
  p *= param(4);
  g += param(3) * p;
  s0 += (C(1.0) - param(0)) * (g - s0);
  s1 = param(1) * s1 + (C(1.0) - param(1)) * g * g;
  C second = s1;
  if (CODE == 4) {
    s2 = s2 > s1 ? s2 : s1;
    second = s2;
  }
  p -= m_div(param(5) * s0, m_sqrt(second) * param(6) + param(2));
}

// Numbers: learning rate, alpha, eps, weight decay, momentum. Bit 0 of `kind`: with momentum, bit 1: centered.
void rmsprop(uint kind, inout C p, C g, inout C s0, inout C mean, inout C memory) {
  g += param(3) * p;
  s0 = param(1) * s0 + (C(1.0) - param(1)) * g * g;
  C variance = s0;
  if ((kind & 2u) != 0u) {
    mean += (C(1.0) - param(1)) * (g - mean);
    variance -= mean * mean;
  }
  C change = m_div(g, m_sqrt(variance) + param(2));
  if ((kind & 1u) != 0u) {
    memory = param(4) * memory + change;
    change = memory;
  }
  p -= param(0) * change;
}

// Numbers: learning rate, eps, weight decay.
void adagrad(inout C p, C g, inout C s) {
  g += param(2) * p;
  s += g * g;
  p -= m_div(param(0) * g, m_sqrt(s) + param(1));
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i < push.word[0]) do {
    C p = load0(DTYPE, i), g = load1(DTYPE, i), s0 = C(0.0), s1 = C(0.0), s2 = C(0.0);
    if (STATES > 0) s0 = load2(DTYPE, i);
    if (STATES > 1) s1 = load3(DTYPE, i);
    if (STATES > 2) s2 = load4(DTYPE, i);
    switch (CODE) {
      case 0: case 1: case 2: sgd(p, g, s0); break;
      case 3: case 4: adam(p, g, s0, s1, s2); break;
      case 5: rmsprop(0u, p, g, s0, s1, s2); break;
      case 6: rmsprop(1u, p, g, s0, s2, s1); break;
      case 7: rmsprop(2u, p, g, s0, s1, s2); break;
      case 8: rmsprop(3u, p, g, s0, s1, s2); break;
      default: adagrad(p, g, s0);
    }
    store0(DTYPE, i, p);
    if (STATES > 0) store2(DTYPE, i, s0);
    if (STATES > 1) store3(DTYPE, i, s1);
    if (STATES > 2) store4(DTYPE, i, s2);
  } while ((i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) < push.word[0]);
}
