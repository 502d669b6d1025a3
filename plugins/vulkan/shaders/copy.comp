#version 460
// Elements from one layout to another, as bits: CODE is their size in bytes.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"

void main() {
  FOR_EACH_ELEMENT(i) {
    const Place p = place_of(i);
    if (CODE == 1) AT8(0, p.at[0]) = AT8(1, p.at[1]);
    if (CODE == 2) AT16(0, p.at[0]) = AT16(1, p.at[1]);
    if (CODE == 4) AT32(0, p.at[0]) = AT32(1, p.at[1]);
    for (uint w = 0; CODE > 4 && w < CODE / 4; ++w) AT32(0, p.at[0] * (CODE / 4) + w) = AT32(1, p.at[1] * (CODE / 4) + w);
  }
}
