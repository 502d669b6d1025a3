"""tenon.torch beside PyTorch: the entries of op_db that pass, a script that runs in both, and what the namespace itself promises."""
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

import tenon
import tenon.torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import op_db

SCRIPTS = pathlib.Path(__file__).parent / 'scripts'


@pytest.fixture(name='ours')
def namespace():
    return tenon.torch


def test_passing_entries_still_pass(torch):
    if importlib.util.find_spec('expecttest') is None:
        pytest.fail('expecttest is missing beside PyTorch: benchmarks/peers/install installs it')
    _, verdicts = op_db.judge_all(op_db.passing(), samples=1)
    assert len(verdicts) > 500
    worse = {name: verdict['failed'] or 'no sample' for name, verdict in verdicts.items() if verdict['failed'] or not verdict['passed']}
    assert not worse


def run_script(name, package):
    """What main() of a script returns; of its text only the import lines are other ones."""
    text = (SCRIPTS / name).read_text(encoding='utf-8')
    if package != 'torch':
        text = re.sub(r'^import torch$', f'import {package} as torch', text, flags=re.M)
        text = re.sub(r'^(import torch\.|from torch(?:\.| import))', lambda found: found[0].replace('torch', package), text, flags=re.M)
        assert not re.search(r'^(import|from) torch\b', text, re.M)
    found = {'__name__': 'script'}
    exec(compile(text, name, 'exec'), found)
    return found['main']()


def numbers(value):
    """All numbers of nested results, in order."""
    if isinstance(value, dict):
        return [each for key in value for each in numbers(value[key])]
    return [each for part in value for each in numbers(part)] if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize('name', sorted(path.name for path in SCRIPTS.glob('*.py')))
def test_a_script_computes_the_same_as_in_pytorch(torch, name):
    theirs, mine = run_script(name, 'torch'), run_script(name, 'tenon.torch')
    assert len(theirs[0]) >= 10
    assert numbers(mine) == pytest.approx(numbers(theirs), abs=1e-4)


def test_a_script_runs_without_pytorch():
    losses, (_, correct, _) = run_script('image_classifier.py', 'tenon.torch')
    assert losses[-1] < losses[0] / 2 and correct > 0.5


def test_where_meanings_agree_it_is_the_same_object(ours):
    assert ours.Tensor is tenon.Tensor and ours.float32 is tenon.float32 and ours.no_grad is tenon.no_grad
    assert ours.isnan is tenon.isnan and ours.nn.Module is tenon.nn.Module


def test_results_match_pytorchs(ours):
    x = ours.tensor([[1.0, 5.0], [7.0, 2.0]])
    values, indices = ours.max(x, 1)
    assert values.tolist() == [5, 7] and indices.tolist() == [1, 0]
    assert ours.max(x).item() == 7 and ours.max(x, ours.zeros(2, 2)).tolist() == x.tolist()
    assert ours.std(ours.tensor([1.0, 3.0])).item() == pytest.approx(2 ** 0.5)
    assert ours.equal(x, x) is True and ours.sort(x, dim=0).indices.tolist() == [[0, 1], [1, 0]]
    assert (ours.add(x, ours.tensor(1.0, dtype=ours.float64))).dtype is ours.float32
    assert ours.sum(ours.ones(2, dtype=ours.uint8)).dtype is ours.int64


def test_out(ours):
    x, out = ours.ones(2, 2), ours.zeros(2, 2, dtype=ours.float64)
    assert ours.add(x, 1, out=out) is out and out.tolist() == [[2, 2], [2, 2]]
    with pytest.raises(ValueError, match=r'\[out\] .* more than once'):
        ours.add(x, 1, out=ours.zeros(1).expand(3))
    with pytest.raises(TypeError, match=r'\[out\] of dtype torch.int64 cannot hold'):
        ours.add(x, 1, out=ours.zeros(2, 2, dtype=ours.int64))
    with pytest.raises(ValueError, match='requires a gradient'):
        ours.add(x, 1, out=ours.zeros(2, 2, requires_grad=True))


def test_what_is_not_offered_says_what_to_use(ours):
    for name, instead in (('monitor', 'own machinery'), ('Storage', 'data_ptr')):
        with pytest.raises(AttributeError, match=instead):
            getattr(ours, name)
    with pytest.raises(AttributeError, match='has no attribute'):
        getattr(ours, 'no_such_name')
    assert not hasattr(ours, 'monitor')


def test_every_public_name_exists(ours):
    for module in (ours, ours.nn, ours.nn.functional, ours.nn.init, ours.linalg, ours.special, ours.fft, ours.optim, ours.utils.data):
        for name in dir(module):
            assert getattr(module, name) is not None or name in ('newaxis', '__spec__', '__cached__', '__file__', '__doc__'), name
    assert all(function.__doc__ for name, function in vars(ours).items() if callable(function) and name[0] != '_')


def test_modes(ours):
    with ours.set_grad_enabled(False):
        assert not ours.is_grad_enabled()
    assert ours.is_grad_enabled()
    ours.set_grad_enabled(False)
    assert not ours.is_grad_enabled()
    ours.set_grad_enabled(True)

    @ours.inference_mode()
    def run():
        return ours.is_inference_mode_enabled()
    assert run() and not ours.is_inference_mode_enabled()


def test_random_numbers_repeat(ours):
    drawn = [ours.randn(3, generator=ours.Generator().manual_seed(7)).tolist() for _ in range(2)]
    assert drawn[0] == drawn[1]
    weights = ours.tensor([0.0, 1.0, 3.0])
    assert set(ours.multinomial(weights, 50, replacement=True).tolist()) <= {1, 2}
    assert sorted(ours.multinomial(weights, 2).tolist()) == [1, 2]


def test_saving(ours, tmp_path):
    net = ours.nn.Linear(2, 3)
    ours.save(net.state_dict(), tmp_path / 'net.pt')
    other = ours.nn.Linear(2, 3)
    other.load_state_dict(ours.load(tmp_path / 'net.pt'))
    assert ours.equal(net.weight, other.weight)
    ours.save(net, tmp_path / 'whole.pt')
    with pytest.raises(ValueError, match='state_dict'):
        ours.load(tmp_path / 'whole.pt')


def test_importing_it_is_cheap():
    """By what importing it does, which no other work on the machine changes: calls (13,000 are 20 ms) and modules."""
    code = """import sys, tenon
names, calls = set(sys.modules), 0
def count(frame, event, arg):
    global calls
    calls += event in ('call', 'c_call')
sys.setprofile(count)
import tenon.torch
sys.setprofile(None)
print(calls, len(set(sys.modules) - names), 'tenon.torch.nn' in sys.modules)"""
    done = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True)
    calls, modules, has_nn = done.stdout.split()
    assert int(calls) < 20_000 and int(modules) < 42 and has_nn == 'False'


@pytest.mark.parametrize('name', ['Conv2d', 'ReLU', 'CrossEntropyLoss', 'MaxPool2d', 'PReLU', 'InstanceNorm2d', 'EmbeddingBag', 'Bilinear'])
def test_modules(ours, name):
    nn = ours.nn
    x = ours.randn(2, 3, 6, 6)
    made, inputs = {
        'Conv2d': lambda: (nn.Conv2d(3, 4, 3, padding=1, padding_mode='reflect'), [x]),
        'ReLU': lambda: (nn.ReLU(inplace=True), [x]),
        'CrossEntropyLoss': lambda: (nn.CrossEntropyLoss(weight=ours.ones(3)), [ours.randn(2, 3), ours.tensor([0, 2])]),
        'MaxPool2d': lambda: (nn.MaxPool2d(2, return_indices=True), [x]),
        'PReLU': lambda: (nn.PReLU(3), [x]),
        'InstanceNorm2d': lambda: (nn.InstanceNorm2d(3, affine=True, track_running_stats=True), [x]),
        'EmbeddingBag': lambda: (nn.EmbeddingBag(5, 2), [ours.tensor([[0, 1], [2, 4]])]),
        'Bilinear': lambda: (nn.Bilinear(2, 3, 4), [ours.randn(5, 2), ours.randn(5, 3)]),
    }[name]()
    made(*inputs)
    assert name in repr(made)
    again = type(made)
    assert again.__name__ == name and again.__doc__
