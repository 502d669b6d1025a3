// Cases of a table of ops for floats or for integers alone, after OP.
#ifdef TN_FLOATING
#define FLOAT_OP OP
#define INT_OP(op, dtypes, value)
#else
#define FLOAT_OP(op, dtypes, value)
#define INT_OP OP
#endif
