// For activations and what follows a product. After math.glsl.
// x s(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3): the same as x (1 + tanh u) / 2, without its cancellation.
C gelu_tanh(C x) {
  const C inner = fma(x * x * x, kGeluCube, x);
  return x == C(-M_INF) ? C(0.0) : x * m_sigmoid(inner * kGeluScale);
}
