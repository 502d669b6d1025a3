"""Runs the same lines with PyTorch and with tenon.torch."""
import warnings

import pytest

import tenon.torch as ours


def _parts(convert, value):
    """A nested value with its leaves converted."""
    if isinstance(value, dict):
        return {key: convert(item) for key, item in value.items()}
    return (type(value).__name__, [convert(x) for x in value]) if isinstance(value, (list, tuple)) else value


def plain(value):
    """Nested tensors as (dtype, shape, numbers rounded)."""
    if hasattr(value, 'requires_grad'):
        numbers = value.detach().reshape(-1).tolist()
        return str(value.dtype).removeprefix('torch.'), tuple(value.shape), pytest.approx(numbers, abs=1e-5, rel=1e-5, nan_ok=True)
    return _parts(plain, value)


def simple(value):
    """As plain, with exact numbers: what an approx is compared with."""
    if hasattr(value, 'requires_grad'):
        return str(value.dtype).removeprefix('torch.'), tuple(value.shape), value.detach().reshape(-1).tolist()
    return _parts(simple, value)


def same(torch, run):
    """Asserts that run(package) gives the same in both, or raises the same kind of error."""
    results = []
    for package in torch, ours:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                results.append(run(package))
        except (RuntimeError, ValueError, TypeError, NotImplementedError, LookupError) as error:
            results.append(error)
    theirs, mine = results
    if isinstance(theirs, Exception):
        assert isinstance(mine, type(theirs)), mine
    else:
        assert not isinstance(mine, Exception), mine
        assert simple(mine) == plain(theirs)
    return theirs
