// NaN comes before all others in either order.
bool better(C x, C y, bool most) { return ((most ? x > y : x < y) || is_nan(x)) && !is_nan(y); }
