// An element, or several at once, moved as bits: UNIT bytes.
#define MOVE(to, i, from, j, UNIT)                                   \
  if (UNIT == 1) AT8(to, i) = AT8(from, j);                          \
  if (UNIT == 2) AT16(to, i) = AT16(from, j);                        \
  if (UNIT == 4) AT32(to, i) = AT32(from, j);                        \
  for (uint w_ = 0; UNIT > 4 && w_ < UNIT / 4; ++w_)                 \
    AT32(to, (i) * (UNIT / 4) + w_) = AT32(from, (j) * (UNIT / 4) + w_);
