"""What the ways to resample share: how far apart new entries lie, and Keys's cubic filter."""


def scale_of(n, size, factor, align_corners):
    """Old entries between two new ones, where n become `size`; factor: the scale that was asked for, or None for the ratio of sizes."""
    if align_corners:
        return (n - 1) / (size - 1) if size > 1 else 0.0
    return n / size if factor is None else 1 / factor


def cubic_near(d, a):
    """The filter at distances up to 1: Keys, Cubic convolution interpolation for digital image processing, 1981, eq. 4 and 8."""
    return ((a + 2) * d - (a + 3)) * d * d + 1


def cubic_far(d, a):
    """The filter at distances from 1 to 2."""
    return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a


def cubic_weights(t, a=-0.75):
    """The weights of four neighbours at distance t from the second."""
    return cubic_far(t + 1, a), cubic_near(t, a), cubic_near(1 - t, a), cubic_far(2 - t, a)
