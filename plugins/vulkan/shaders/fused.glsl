// a b + c rounded once, whatever the device's fma() does: exact product and sums, the rest rounded to odd (Boldo and Melquiond,
// "Emulation of FMA and correctly rounded sums", 2008). Valid far from overflow and underflow. Include after math.glsl.

// What was lost in the sum s = a + b (Knuth).
C lost_of_sum(C a, C b, C s) {
  precise C t = s - a;
  precise C u = s - t;
  precise C r = (a - u) + (b - t);
  return r;
}

C split_upper(C x) {
#ifdef TN_F64
  precise C t = 134217729.0lf * x;
#else
  precise C t = 4097.0 * x;
#endif
  precise C r = t - (t - x);
  return r;
}

C lost_of_product(C a, C b, C p) {
  const C ah = split_upper(a), bh = split_upper(b);
  precise C al = a - ah, bl = b - bh;
  precise C r = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  return r;
}

// One bit towards or away from 0.
C step_of(C x, bool outward) {
#ifdef TN_F64
  const uint64_t bits = packUint2x32(unpackDouble2x32(x));
  return packDouble2x32(unpackUint2x32(outward ? bits + 1ul : bits - 1ul));
#else
  const uint bits = floatBitsToUint(x);
  return uintBitsToFloat(outward ? bits + 1u : bits - 1u);
#endif
}
bool is_odd(C x) {
#ifdef TN_F64
  return (unpackDouble2x32(x).x & 1u) != 0u;
#else
  return (floatBitsToUint(x) & 1u) != 0u;
#endif
}

C fused(C a, C b, C c) {
  precise C p = a * b;
  const C pl = lost_of_product(a, b, p);
  precise C t = c + pl;
  const C tl = lost_of_sum(c, pl, t);
  precise C v = p + t;
  const C vl = lost_of_sum(p, t, v);
  precise C z = tl + vl;
  const C lost = lost_of_sum(tl, vl, z);
  if (lost != C(0.0) && !is_odd(z)) z = step_of(z, (lost > C(0.0)) == (z > C(0.0)));
  precise C y = v + z;
  return y;
}
