#version 460
// Elementary functions, by CODE: the line of unary_math.def.
// Computes in F32, F64; one op of many by a constant.
#extension GL_GOOGLE_include_directive : require
#include "tenon.glsl"
#include "math.glsl"
#include "erfinv.glsl"
#include "gamma.glsl"
#define TN_OPERANDS 2
#include "layout.glsl"

C apply(C x) {
  switch (CODE) {
#define OP(op, value) case __LINE__: return value;
#include "unary_math.def"
  }
  return x;
}

#include "each.glsl"
