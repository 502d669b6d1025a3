"""Tensors that a function makes of sizes on the host and writes into: position tables, masks, buffers of results."""
import math
import random
import warnings

import numpy as np
import pytest

import tenon
import tenon.torch as torch
from tenon.graph import Dim

from .test_graph import same


def sinusoids(x):
    length, width = x.shape[1], x.shape[2]
    table = torch.zeros(length, width)
    position = torch.arange(0, length).unsqueeze(1).float()
    rates = torch.exp(torch.arange(0, width, 2).float() * -(math.log(10000.0) / width))
    table[:, 0::2] = torch.sin(position * rates)
    table[:, 1::2] = torch.cos(position * rates)
    return x + table


def sinusoids_in_empty_memory(x):
    length, width = x.shape[1:]
    table = torch.empty(length, width)
    phase = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    torch.sin(phase, out=table[:, 0::2])
    table[:, 1::2].copy_(phase.cos())
    return x + table


def one_element_after_another(x):
    index = torch.arange(x.shape[1])
    index[1:] -= 1
    index[0], index[-1] = 7, 2
    return x + index[:, None]


def in_place_by_name(x):
    index = torch.arange(x.shape[1], dtype=torch.float32)
    index.mul_(0.5).add_(1).sin_()
    index[::2] = index[::2] * 2
    return x + index.clamp_(max=1)[:, None]


def reads_before_and_after_writes(x):
    """What was computed from a tensor before a write must not see it, and what the graph has read does not change either."""
    row, other = torch.arange(x.shape[1]).float(), torch.arange(x.shape[1]).float()
    twice = row * 2
    other[1:] = row[:-1]
    row.mul_(3)
    both = row + other
    other += both
    row[0] = 9
    y = x + other[:, None]
    late = both - row
    row.zero_()
    return y * late[:, None] + row[:, None] + twice[:, None] + both[:, None]


def writes_after_the_graph_has_read(x):
    row = torch.arange(x.shape[1]).float()
    y = x + row[:, None]
    row += 1
    y = y * row[:, None]
    tail = row[1:]
    tail -= 4
    y = y + row[:, None]
    row[:2] = 3.
    return y + row[:, None]


def views_of_views(x):
    length = x.shape[1]
    table = torch.arange(length * length).view(length, length).float()
    table.diagonal().mul_(-1)
    table.T[0, :] = 5.
    table.flatten()[1:] += 1
    return (x @ x.mT) * table.unsqueeze(0).expand(2, -1, -1)[:1] + table.detach()


def masks(x):
    length = x.shape[1]
    mask = torch.zeros(length, length)
    mask[0::2, 1::3] = 1.
    mask[length // 2:, :] = 2.
    mask[-1, :] += 5
    causal = torch.full((length, length), -1e9).triu_(1)
    causal.masked_fill_(torch.eye(length).bool(), 3.)
    chosen = torch.arange(length) % 3 == 0
    chosen[0] = False
    chosen |= torch.arange(length) > 4
    return (x @ x.mT + mask + causal).masked_fill(chosen, 0.)


def grid(x):
    rows, columns = torch.meshgrid(torch.arange(x.shape[1]), torch.arange(x.shape[2]), indexing='ij')
    both = torch.stack([rows, columns], -1).float()
    both[..., 0] /= x.shape[1]
    both[..., 1] -= x.shape[2]
    return x[..., None] + both


def moved_halves(x):
    length = x.shape[1]
    row = torch.arange(length)
    row[:length // 2].copy_(row[length - length // 2:].clone())
    return x + row[:, None]


def accumulated(x):
    total, row = torch.zeros(x.shape[1]), torch.arange(x.shape[1]).float()
    for k in range(4):
        total[k % 2::2] += (row * (k + 1))[k % 2::2]
        row *= 0.5
    return x + total[:, None]


def results_interleaved(x):
    batch, length, width = x.shape
    made = torch.empty(batch, length, width)
    made[..., 0::2], made[..., 1::2] = x[..., 1::2], -x[..., 0::2]
    return made


def outside_numbers(x):
    """Not of any size, and written between reads."""
    numbers = torch.tensor([1., 2, 3, 4, 5, 6])
    twice = numbers * 2
    numbers[0] = 9.
    numbers[1:3] = numbers[2:4] * 2
    return x + numbers + twice


def elements_are_read(x):
    row = torch.arange(8.)
    row += 1
    ends = torch.tensor([1, 0, 2, 0, 3]).nonzero()[:, 0]
    ends += 1
    return x * sum(row.tolist()) + int((row > 3).sum()) + ends.sum() + torch.arange(x.shape[1])[:, None]


def windows(x):
    length = x.shape[1]
    made = [torch.hann_window(length), torch.hann_window(length, periodic=False), torch.hamming_window(length), torch.blackman_window(length),
            torch.bartlett_window(length), torch.linspace(-1, 1, length), torch.linspace(0.5, length - 0.5, length)]
    return x[..., None] * torch.stack(made, -1)[None, :, None]


def numbers_of_sizes(x):
    rows, columns = x.shape[:2]
    return (x * (2.0 / columns) + 1.5 * columns + columns / 3 + math.log(columns + 1) / math.log(512) + (columns - 0.5)
            + 0.7 / (columns + 1) + math.sqrt(columns) * 1.25 + math.pi / (rows + 2))


def triangles(x):
    length = x.shape[1]
    lower, upper = torch.tril_indices(length, length, -1), torch.triu_indices(length, length, dtype=torch.int32).long()
    mask = torch.zeros(length, length)
    mask[lower[0], lower[1]] = -2
    return (x @ x.mT + mask)[:, upper[0], upper[1]]


def staircases(x):
    """Triangles of rectangles, begun anywhere."""
    length = x.shape[1]
    made = []
    for rows, columns, offset in ((length, length + 3, 0), (length, 2 * length, -1), (length + 2, length, 1), (5, 7, -2), (6, 4, 3)):
        for indices in torch.tril_indices, torch.triu_indices:
            index = indices(rows, columns, offset)
            made.append(x[0, 0, 0] + index[0] * 100 + index[1])
    return tuple(made)


def centres(x):
    """Positions in the middle of pixels, and the like."""
    length = x.shape[1]
    at = torch.linspace(-1 + 1 / length, 1 - 1 / length, length)
    return x + at[:, None] + torch.linspace(0.5 / length, 1 - 0.5 / length, length)[:, None] + (1 - 1 / length) + (2 / length - 0.5)


def relative_positions(x):
    """Buckets as T5 has them, ALiBi, and the table of a window as Swin has it."""
    length, width = x.shape[1:]
    away = torch.arange(length)[None, :] - torch.arange(length)[:, None]
    bucket = (away > 0).long() * 16
    far = torch.min(8 + (torch.log(away.abs().float() / 8) / math.log(16) * 8).long(), torch.full_like(away, 15))
    table = torch.arange(32 * 4).float().view(32, 4)[bucket + torch.where(away.abs() < 8, away.abs(), far)]
    slopes = 2 ** (-torch.arange(1., 5))
    biases = table.permute(2, 0, 1) + (slopes[:, None, None] * -away.abs()).masked_fill_(away > 0, float('-inf'))
    corners = torch.stack(torch.meshgrid(torch.arange(length), torch.arange(width), indexing='ij')).flatten(1)
    moved = (corners[:, :, None] - corners[:, None, :]).permute(1, 2, 0).contiguous()
    moved[:, :, 0] += length - 1
    moved[:, :, 1] += width - 1
    moved[:, :, 0] *= 2 * width - 1
    own = torch.arange(float((2 * length - 1) * (2 * width - 1)))[moved.sum(-1).view(-1)]
    return (x @ x.mT)[:, None] + biases, x.flatten(1)[:, None] + own.view(length * width, -1)


def rotations(x):
    length, width = x.shape[1:]
    angles = torch.outer(torch.arange(length).float(), 1.0 / 10000 ** (torch.arange(0, width, 2).float() / width))
    angles = torch.cat([angles, angles], -1)
    first, second = x.chunk(2, -1)
    ids = (x[..., 0] > -1).long().cumsum(-1) - 1
    return x * angles.cos() + torch.cat([-second, first], -1) * angles.sin() + ids.clamp_(min=0)[..., None]


def equal(found, wanted):
    return all(map(same, found, wanted)) if isinstance(wanted, tuple) else same(found, wanted)


FUNCTIONS = [sinusoids, sinusoids_in_empty_memory, one_element_after_another, in_place_by_name, reads_before_and_after_writes,
             writes_after_the_graph_has_read, views_of_views, masks, grid, moved_halves, accumulated, results_interleaved, outside_numbers,
             elements_are_read, windows, numbers_of_sizes, triangles, staircases, centres, relative_positions,
             rotations]


@pytest.mark.parametrize('fn', FUNCTIONS)
def test_what_is_written_follows_the_sizes(fn, tmp_path):
    program = tenon.graph.trace(fn, torch.randn(2, 9, 6), dynamic={0: {0: 'batch', 1: 'length'}})
    program.save(tmp_path / 'program')
    loaded = tenon.graph.load(tmp_path / 'program')
    program.exact = loaded.exact = True
    assert program.dims[1].min <= 2 and program.dims[1].max is None
    draw = random.Random(1)
    for length in (2, 3, *(draw.randint(4, 120) for _ in range(20))):
        x = torch.randn(draw.randint(1, 5), length, 6)
        wanted = fn(x)
        assert equal(program(x), wanted) and equal(loaded(x), wanted), length


@pytest.mark.parametrize('fn', FUNCTIONS)
def test_one_size(fn):
    x = torch.randn(2, 9, 6)
    assert equal(tenon.graph.trace(fn, x)(x), fn(x))


def test_writes_that_depend_on_no_size_are_computed_once():
    def fn(x):
        row = torch.arange(8.)
        row[::2] = 7.
        row += 1
        twice = row * 2
        row[0] = -1.
        return x.sum(-1, keepdim=True) + row + twice

    program = tenon.graph.trace(fn, torch.randn(2, 9, 6), dynamic={0: {0: 'batch', 1: 'length'}})
    assert str(program).count(' = ') == 3 and same(program(torch.ones(1, 3, 6)), fn(torch.ones(1, 3, 6)))


def test_branches_read_what_was_written_before_them():
    def fn(x):
        row, other = torch.arange(x.shape[1]).float(), torch.arange(x.shape[1]).float()
        row += 1
        other *= 2
        y = tenon.graph.cond(x.sum() > 0, lambda x: x + row[:, None] + other[:, None], lambda x: x - row[:, None], x)
        other += 1
        return y + other[:, None] + row[:, None]

    program = tenon.graph.trace(fn, torch.randn(2, 9, 6), dynamic={0: {0: 'batch', 1: 'length'}})
    for length in (2, 5, 31):
        for x in (torch.ones(1, length, 6), -torch.ones(3, length, 6)):
            assert same(program(x), fn(x))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(6, 6)

    def forward(self, x):
        index = torch.arange(x.shape[1])
        index[0] = 1
        index[1:] -= 1
        mask = torch.full((x.shape[1], x.shape[1]), -1e9).triu_(1).masked_fill_(index == 3, -5.)
        y = self.project(sinusoids(x)) + index[:, None]
        return torch.softmax(y @ y.mT + mask, -1) @ y


@pytest.mark.parametrize('dynamic', [False, True])
def test_training_steps(dynamic):
    def step_of(net):
        optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

        def step(x):
            optimizer.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss
        return step

    torch.manual_seed(0)
    net, other = Net(), Net()
    other.load_state_dict(net.state_dict())
    fast, plain, draw = tenon.compile(step_of(net), dynamic=dynamic), step_of(other), random.Random(2)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        for _ in range(20):
            x = torch.randn(draw.randint(1, 3), draw.randint(2, 60) if dynamic else 7, 6)
            np.testing.assert_allclose(fast(x).item(), plain(x).item(), rtol=1e-5)
    assert all(known.program_there is not None for known in fast._sized.values()) and len(fast._programs) > 0


def test_a_write_of_what_is_traced_into_a_host_tensor_is_refused_with_its_place():
    def fn(x):
        row = torch.arange(x.shape[1]).float()
        row[0] = x.sum()
        return x + row[:, None]

    with pytest.raises(tenon.PreconditionError, match=r'\[graph\] clone: it writes what is traced into a tensor .*test_host_tensors.py:\d+'):
        tenon.graph.trace(fn, torch.randn(2, 9, 6), dynamic={0: {1: Dim('length')}})
