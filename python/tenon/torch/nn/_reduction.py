"""torch.nn._reduction: reductions by number, and those that size_average and reduce meant."""
import warnings


def get_enum(reduction):
    """0 none, 1 mean, 2 sum."""
    numbers = {'none': 0, 'mean': 1, 'elementwise_mean': 1, 'sum': 2}
    if reduction not in numbers:
        raise ValueError(f"{reduction} is not a valid value for reduction: 'none', 'mean' or 'sum'")
    return numbers[reduction]


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The reduction that the two arguments of early versions mean."""
    found = 'none' if reduce is False else 'sum' if size_average is False else 'mean'
    if emit_warning:
        warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{found}' instead.", stacklevel=3)
    return found


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """get_enum() of legacy_get_string()."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
