// Convolution as a product of matrices that are never stored. Passes: 0 forward, 1 the gradient of the input, 2 of the weight.
// 0: out[f, (image, o)] = sum over (c, tap) of w[f, (c, tap)] x[c, (image, o), tap]
// 1: gx[c, (image, i)]  = sum over (f, tap) of w[(f, tap), c] g[f, (image, i), tap]
// 2: gw[f, (c, tap)]    = sum over (image, o) of g[f, (image, o)] x[c, (image, o), tap]
// Slots: result, weight (pass 2: g), x (pass 1: g), bias. Words and table as ops/conv.cpp passes them.
layout(constant_id = 3) const uint IN = 11;
layout(constant_id = 4) const uint OUT = 11;
layout(constant_id = 5) const uint PASS = 0;
layout(constant_id = 6) const uint KERNEL_Z = 1;
layout(constant_id = 7) const uint KERNEL_Y = 1;
layout(constant_id = 8) const uint KERNEL_X = 1;
const uint TAPS = KERNEL_Z * KERNEL_Y * KERNEL_X;

#define GROUPS push.word[3]
#define CHANNELS push.word[4]  // of x, in a group
#define FILTERS push.word[5]   // of the forward pass's result, in a group
#define BIAS (push.word[6] != 0u)
#define STRIDED (push.word[7] != 0u)
#define SPLITS push.word[8]
#define SPLIT_K push.word[9]

ivec3 entry(uint i) { return ivec3(table(i), table(i + 1), table(i + 2)); }
ivec3 across = entry(0);     // the iterated plane: outputs in passes 0 and 2, inputs in pass 1
ivec3 source = entry(3);     // the plane that is read
ivec3 stride = entry(6), padding = entry(9), dilation = entry(12);
uint plane = uint(across.x * across.y * across.z), source_plane = uint(source.x * source.y * source.z);
uint source_channels = PASS == 1 ? FILTERS : CHANNELS;

// A position in the plane: what its first tap reads (in pass 1, before dividing by the stride).
struct Place {
  uint image, at;
  ivec3 from;
};

Place place_of(uint i) {
  Place p;
  p.image = i / plane;
  p.at = i % plane;
  const uint line = uint(across.z), slice = uint(across.y) * line;
  const ivec3 at = ivec3(p.at / slice, p.at / line % uint(across.y), p.at % line);
  p.from = PASS == 1 ? at + padding : at * stride - padding;
  return p;
}

// The element that a tap reads at a position; channel and tap in one index.
C fetch(Place p, uint group, uint channel_tap) {
  const uint channel = channel_tap / TAPS, tap = channel_tap % TAPS;
  const ivec3 k = ivec3(tap / (KERNEL_Y * KERNEL_X), tap / KERNEL_X % KERNEL_Y, tap % KERNEL_X) * dilation;
  ivec3 at = PASS == 1 ? p.from - k : p.from + k;
  if (PASS == 1 && STRIDED) {
    if (any(lessThan(at, ivec3(0)))) return C(0);
    const ivec3 q = at / stride;
    if (q * stride != at) return C(0);
    at = q;
  }
  if (any(greaterThanEqual(uvec3(at), uvec3(source)))) return C(0);
  const uint first = ((p.image * GROUPS + group) * source_channels + channel) * source_plane;
  return load2(IN, first + uint((at.x * source.y + at.y) * source.z + at.z));
}

// The weight for a row of the product: filters in pass 0, channels in pass 1.
C weight(uint group, uint row, uint channel_tap) {
  if (PASS == 0) return load1(IN, (group * FILTERS + row) * CHANNELS * TAPS + channel_tap);
  const uint from = group * FILTERS + channel_tap / TAPS;
  return load1(IN, (from * CHANNELS + row) * TAPS + channel_tap % TAPS);
}

// Pass 2: g for a filter at a position.
C gradient(uint group, uint row, Place p) {
  return load1(IN, ((p.image * GROUPS + group) * FILTERS + row) * plane + p.at);
}
