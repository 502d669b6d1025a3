#version 460
// Arithmetic of two operands, by CODE: the order of Op in ops/binary.cpp.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 3
#include "layout.glsl"

C apply(C x, C y) {
  switch (CODE) {
    case 0: return x + y;
    case 1: return x - y;
    case 2: return x * y;
    case 3: return x / y;
  }
  return x;
}

void main() {
  FOR_EACH_ELEMENT(i) {
    const Place p = place_of(i);
    store0(OUT, p.at[0], apply(load1(IN1, p.at[1]), load2(IN2, p.at[2])));
  }
}
