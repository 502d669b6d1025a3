#include "float_formats_table.h"

const Conversion in_c[4] = CONVERSIONS;
