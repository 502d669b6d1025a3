// A head's (N, W) matrix. table: for each operand its first element and its strides over (B, H, N, W).
struct Head { uint first, row, column; };
Head head_of(uint operand, uint b, uint h) {
  const uint t = 5 * operand;
  return Head(table(t) + b * table(t + 1) + h * table(t + 2), table(t + 3), table(t + 4));
}
uint at(Head head, uint row, uint column) { return head.first + row * head.row + column * head.column; }
