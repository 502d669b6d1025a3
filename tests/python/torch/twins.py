"""Modules of both libraries with the same weights and inputs: their results and gradients compared."""
import tenon.torch as ours


def moved(x):
    """PyTorch's tensors as ours."""
    return ours.tensor(x.detach().numpy().copy())


def check_close(mine, theirs, tolerance, what):
    assert tuple(mine.shape) == tuple(theirs.shape), what
    difference = (theirs - theirs.new_tensor(mine.detach().tolist()).reshape(theirs.shape)).abs().max().item() if theirs.numel() else 0
    assert difference <= tolerance, f'{what}: {difference}'


def twins(torch, name, dtype, *args, **kwargs):
    """A module of each library with the same weights."""
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(*args, **kwargs).to(getattr(torch, dtype))
    mine = getattr(ours.nn, name)(*args, **kwargs, dtype=getattr(ours, dtype))
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict({key: moved(x) for key, x in theirs.state_dict().items()})
    theirs.load_state_dict({key: torch.tensor(x.tolist(), dtype=getattr(torch, dtype)) for key, x in mine.state_dict().items()})
    return mine, theirs


def flat(value):
    if isinstance(value, tuple):
        return [x for each in value for x in flat(each)]
    return [value]


def compare(torch, mine, theirs, inputs, tolerance):
    """Results and gradients of inputs and parameters, for the sum of all results by random factors."""
    copies = [None if x is None else tuple(map(moved, x)) if isinstance(x, tuple) else moved(x) for x in inputs]
    leaves = [x for value in copies if value is not None for x in flat(value)], [x for value in inputs if value is not None for x in flat(value)]
    for side in leaves:
        for x in side:
            x.grad = None
            x.requires_grad_(x.dtype.is_floating_point)
    results = [x for x in flat(mine(*copies)) if x is not None], [x for x in flat(theirs(*inputs)) if x is not None]
    torch.manual_seed(1)
    factors = [torch.randn_like(x) for x in results[1]]
    for i, (a, b) in enumerate(zip(*results, strict=True)):
        check_close(a, b, tolerance, f'result {i}')
    sum((x * f).sum() for x, f in zip(results[1], factors)).backward()
    total = 0
    for x, f in zip(results[0], factors):
        total = total + (x * moved(f)).sum()
    total.backward()
    for i, (a, b) in enumerate(zip(*leaves)):
        if b.grad is not None:
            check_close(a.grad, b.grad, 10 * tolerance, f'gradient of input {i}')
    for (key, a), b in zip(mine.named_parameters(), theirs.parameters()):
        if b.grad is not None:
            check_close(a.grad, b.grad, 20 * tolerance, f'gradient of {key}')
