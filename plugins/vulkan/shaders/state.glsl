// How the engine of reduce.glsl stores the used parts of a State: TN_PARTS of a, b, c, and `at` if TN_AT.
shared C shared_a[gl_WorkGroupSize.x], shared_b[gl_WorkGroupSize.x], shared_c[gl_WorkGroupSize.x];
shared uint shared_at[gl_WorkGroupSize.x];

void park(uint i, State s) {
  shared_a[i] = s.a;
  if (TN_PARTS > 1) shared_b[i] = s.b;
  if (TN_PARTS > 2) shared_c[i] = s.c;
  if (TN_AT) shared_at[i] = s.at;
}
State fetch(uint i) {
  State s = State(shared_a[i], C(0), C(0), 0u);
  if (TN_PARTS > 1) s.b = shared_b[i];
  if (TN_PARTS > 2) s.c = shared_c[i];
  if (TN_AT) s.at = shared_at[i];
  return s;
}
void put(uint i, uint size, State s) {
  store2(DT_C, i, s.a);
  if (TN_PARTS > 1) store2(DT_C, size + i, s.b);
  if (TN_PARTS > 2) store2(DT_C, 2 * size + i, s.c);
  if (TN_AT) AT32(2, size * WORDS_OF_C + i) = s.at;
}
State get(uint i, uint size) {
  State s = State(load2(DT_C, i), C(0), C(0), 0u);
  if (TN_PARTS > 1) s.b = load2(DT_C, size + i);
  if (TN_PARTS > 2) s.c = load2(DT_C, 2 * size + i);
  if (TN_AT) s.at = AT32(2, size * WORDS_OF_C + i);
  return s;
}
