// For elementwise shaders: the position of an element in each operand. Constants and words as run_elementwise() of elementwise.hpp passes
// them. TN_OPERANDS is the number of operands with the output.
layout(constant_id = 1) const uint CODE = 0;
layout(constant_id = 2) const uint NDIM = 0;  // 0: flat, with a step for each operand
layout(constant_id = 3) const uint OUT = 11;
layout(constant_id = 4) const uint IN1 = 11;
layout(constant_id = 5) const uint IN2 = 11;
layout(constant_id = 6) const uint IN3 = 11;
layout(constant_id = 7) const uint DENSE = 0;  // bit k: rows of operand k come in quads (quads.glsl); 0: none do
const uint WORDS = 5;  // attributes begin here
#if defined(TN_F32)
float param(uint k) { return real_word(WORDS + 2u * k); }
#elif defined(TN_F64)
double param(uint k) { return packDouble2x32(uvec2(push.word[WORDS + 2u * k], push.word[WORDS + 2u * k + 1u])); }
#endif

struct Place { uint at[TN_OPERANDS]; };

Place place_of(uint i) {
  Place p;
  if (NDIM == 0) {
    for (uint k = 0; k < TN_OPERANDS; ++k) p.at[k] = i * push.word[1 + k];
    return p;
  }
  for (uint k = 0; k < TN_OPERANDS; ++k) p.at[k] = table(NDIM + k);
  for (uint d = NDIM; d-- > 0;) {
    const uint size = table(d), at = i % size;
    i /= size;
    for (uint k = 0; k < TN_OPERANDS; ++k) p.at[k] += at * table(NDIM + TN_OPERANDS + k * NDIM + d);
  }
  return p;
}
