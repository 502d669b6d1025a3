#version 460
// Arithmetic of one operand, by CODE: the order of Op in ops/unary.cpp.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"

C apply(C x) {
  switch (CODE) {
    case 0: return -x;
    case 1: return x * x;
  }
  return x;
}

void main() {
  FOR_EACH_ELEMENT(i) {
    const Place p = place_of(i);
    store0(OUT, p.at[0], apply(load1(IN1, p.at[1])));
  }
}
