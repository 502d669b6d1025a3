"""One function run with PyTorch and with tenon.torch: what it returns, or the kind of its error, must be the same."""
import math

import tenon.torch


def plain(value):
    """Tensors as lists, containers within as lists and dicts: what two libraries can be compared by."""
    if hasattr(value, 'detach'):
        return plain(value.detach().tolist())
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def agree(ours, theirs, tolerance):
    """Whether two plain values are equal, floating numbers nearly so."""
    if isinstance(theirs, float) and isinstance(ours, (int, float)):
        return math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance) or math.isnan(ours) and math.isnan(theirs)
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and list(ours) == list(theirs) and all(agree(ours[key], theirs[key], tolerance) for key in theirs)
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(agree(a, b, tolerance) for a, b in zip(ours, theirs))
    return type(ours) is type(theirs) and ours == theirs


def same(torch, scenario, *arguments, tolerance=1e-5):
    """Runs scenario(namespace, *arguments) in both."""
    theirs, ours = (plain(scenario(namespace, *arguments)) for namespace in (torch, tenon.torch))
    assert agree(ours, theirs, tolerance), f'{ours} is not {theirs}'


def same_error(torch, scenario, *arguments):
    """Runs scenario(namespace, *arguments) in both: ours raises an error of the kind of PyTorch's, with a message.

    Where PyTorch only asserts, any kind will do.
    """
    errors = []
    for namespace in (torch, tenon.torch):
        try:
            scenario(namespace, *arguments)
        except Exception as error:
            errors.append(error)
        else:
            errors.append(None)
    theirs, ours = errors
    assert theirs is not None, 'PyTorch takes it'
    assert ours is not None, f'no error for {theirs!r}'
    kind = Exception if isinstance(theirs, AssertionError) else type(theirs)
    assert isinstance(ours, kind) and str(ours), f'{ours!r} for {theirs!r}'
