// What the shaders for matrix products share: words and table as ops/matmul.cpp passes them, and how a sum is finished.
#ifdef TN_FLOATING
#include "math.glsl"
#include "gelu_tanh.glsl"
#endif
layout(constant_id = 3) const uint IN = 11;
layout(constant_id = 4) const uint OUT = 11;         // of c; of partial sums if sums are split
layout(constant_id = 5) const uint LAST = 0;
const uint ACTIVATION = LAST & 255u;    // the order of Activation in plugins/common/product.hpp
const bool BIAS = (LAST & 256u) != 0u;  // slot 3 has a value for each column

#define M push.word[0]
#define N push.word[1]
#define K push.word[2]
#define A_ROW push.word[3]
#define A_COL push.word[4]
#define B_ROW push.word[5]
#define B_COL push.word[6]
#define BATCHES push.word[7]
#define A_START push.word[8]
#define B_START push.word[9]
#define SPLITS push.word[10]
#define SPLIT_K push.word[11]  // products in a part
#define BIAS_START push.word[12]
#define BIAS_STEP push.word[13]
#define NDIM push.word[14]      // dimensions of the batch
#define A_BY_K ((push.word[15] & 1u) != 0u)  // neighbours along k are contiguous
#define B_BY_K ((push.word[15] & 2u) != 0u)

// The first elements of the batch entry in a and b. table: sizes, strides of a, strides of b.
uvec2 batch_place(uint batch) {
  uvec2 at = uvec2(A_START, B_START);
  for (uint d = NDIM; d-- > 0;) {
    const uint i = batch % table(d);
    batch /= table(d);
    at += i * uvec2(table(NDIM + d), table(2 * NDIM + d));
  }
  return at;
}

C activate(C x) {
#ifdef TN_FLOATING
  switch (ACTIVATION) {
    case 2: return m_gelu(x);
    case 3: return m_silu(x);
    case 4: return m_sigmoid(x);
    case 5: return m_tanh(x);
    case 6: return gelu_tanh(x);
  }
#endif
  // A driver may turn the comparison into a maximum, which loses NaN.
  return ACTIVATION == 1 && x < C(0) && !is_nan(x) ? C(0) : x;
}

C finish(C sum, uint column) {
  if (BIAS) sum += load3(IN, BIAS_START + column * BIAS_STEP);
  return activate(sum);
}
