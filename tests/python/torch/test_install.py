"""`import torch` finds tenon.torch: in programs, in packages, in processes that they start."""
import os
import subprocess
import sys

import pytest

PROGRAM = '''
import importlib.metadata
import sys
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return torch.tensor(i)

if __name__ == '__main__':
    import beside_it
    import tenon.torch
    print(sys.argv[1:], torch is tenon.torch, F is tenon.torch.nn.functional is sys.modules['torch.nn.functional'], F.__spec__.name)
    print(importlib.metadata.version('torch') == torch.__version__, beside_it.relu is F.relu)
    print([batch.tolist() for batch in DataLoader(Numbers(), batch_size=2, num_workers=1, multiprocessing_context='spawn')])
    print(F.relu(torch.tensor([-1., 2.])))
'''
PRINTED = """['--epochs', '3'] True True tenon.torch.nn.functional
True True
[[0, 1], [2, 3]]
tensor([0., 2.])
"""


def run(*arguments, **kwargs):
    environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    path = os.pathsep.join(each for each in sys.path if os.path.isdir(os.path.join(each, 'tenon')))
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env={**environment, 'PYTHONPATH': path}, **kwargs)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'train.py').write_text(PROGRAM)
    (tmp_path / 'beside_it.py').write_text('from torch.nn.functional import relu\n')
    return tmp_path


def test_programs_run_as_they_are(folder):
    assert run('-m', 'tenon.torch', str(folder / 'train.py'), '--epochs', '3') == (0, PRINTED, '')


OPERATORS = '''
import torch
x, zero_dim, half = torch.ones(3), torch.tensor(2., dtype=torch.float64), torch.ones(3, dtype=torch.bfloat16)
count = torch.arange(3)
results = [x * zero_dim, zero_dim - x, x / zero_dim, zero_dim ** x, x // zero_dim, x % zero_dim, half + torch.tensor(1.), x + count, count * zero_dim,
           x == zero_dim, x < count, count & torch.tensor(1, dtype=torch.int8), torch.tensor(True) + x, x.to(torch.complex64) * zero_dim]
x += zero_dim
half *= x
half **= torch.tensor(2.)
count //= torch.tensor(2, dtype=torch.int8)
print([(str(y.dtype), y.tolist()) for y in [*results, x, half, count]])
for wrong in ("count += x", "x @ x.double()"):
    try:
        exec(wrong)
    except RuntimeError:
        print("refused")
'''


def test_operators_promote_as_pytorch(torch, tmp_path):
    (tmp_path / 'operators.py').write_text(OPERATORS)
    wanted = subprocess.run([sys.executable, tmp_path / 'operators.py'], capture_output=True, text=True, check=True).stdout
    assert run('-m', 'tenon.torch', str(tmp_path / 'operators.py')) == (0, wanted, '')
    # Elsewhere the standard's promotion stays.
    import tenon
    assert (tenon.ones(3) * tenon.asarray(2.0, dtype=tenon.float64)).dtype == tenon.float64


def test_modules_run_as_they_are(folder):
    assert run('-m', 'tenon.torch', '-m', 'train', '--epochs', '3', cwd=folder) == (0, PRINTED, '')


@pytest.mark.parametrize('lines, said', [
    ('import torch.nowhere', "No module named 'torch.nowhere': torch is tenon.torch here"),
    ('import torch.utils.cpp_extension', '[torch.utils.cpp_extension] is not offered here: write a plugin'),
    ('from torch import nowhere', "cannot import name 'nowhere'"),
])
def test_what_is_absent_is_an_import_error(lines, said):
    code, _, error = run('-c', f'import tenon.torch\ntenon.torch.install()\ntenon.torch.install()\n{lines}')
    assert code == 1 and said in error and 'Error' in error


def test_pytorch_is_not_replaced_once_it_is_imported(tmp_path):
    (tmp_path / 'torch.py').write_text('__version__ = "2.0"\n')
    code, _, error = run('-c', 'import torch, tenon.torch\ntenon.torch.install()', cwd=tmp_path)
    assert code == 1 and 'PyTorch 2.0 is imported already: call tenon.torch.install() before anything that imports torch' in error


def test_missing_programs_are_named(tmp_path):
    code, _, error = run('-m', 'tenon.torch', str(tmp_path / 'absent.py'))
    assert code == 2 and f'{tmp_path / "absent.py"}' in error and 'Traceback' not in error
