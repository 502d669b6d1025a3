// Sums almost as accurate as in twice the precision.
C sum_of(C v[BLOCK]) {
  return (v[0] + v[1]) + (v[2] + v[3]);
}

#ifdef TN_FLOATING
// Adds to (a, b): the sum, and its rounding error.
void add(inout State s, C x) {
  precise C sum = s.a + x;
  precise C part = sum - s.a;
  precise C lost = (s.a - (sum - part)) + (x - part);
  s.a = sum;
  s.b += lost;
}
void add_sums(inout State s, State t) {
  add(s, t.a);
  s.b += t.b;
}
C total(State s) { return is_nan(s.a) || is_inf(s.a) ? s.a : s.a + s.b; }
#else
void add(inout State s, C x) { s.a += x; }
void add_sums(inout State s, State t) { s.a += t.a; }
C total(State s) { return s.a; }
#endif
