"""torch.export: programs of modules that are saved, loaded and written as ONNX models."""
import io
import pathlib
import sys

import pytest

import tenon
import tenon.torch as torch
from tenon.torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from beside import plain, simple


def network(t):
    class Network(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = t.nn.Linear(3, 2)
            with t.no_grad():
                for x in self.parameters():
                    x.copy_(t.arange(float(x.numel())).reshape(x.shape) / 8)

        def forward(self, x, options, scale=1.0):
            y = self.linear(x) * scale
            return {'y': y, 'rest': (x.sum(1), options['shift'] + y)}
    return Network().eval()


def run(t):
    x, shift, batch = t.arange(12.0).reshape(4, 3), t.ones(2), t.export.Dim('batch')
    made = t.export.export(network(t), (x, {'shift': shift}), {'scale': 2.0}, dynamic_shapes={'x': {0: batch}, 'options': {'shift': None}, 'scale': None})
    module = made.module()
    return module(x, {'shift': shift}, scale=2.0), module(x[:3], {'shift': shift * 3}, scale=2.0), isinstance(module, t.nn.Module)


def test_results_are_those_of_the_module(torch):
    assert simple(run(tenon.torch)) == plain(run(torch))


def test_a_program_is_saved_and_loaded(tmp_path):
    x = torch.randn(5, 3)
    net = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2)).eval()
    made, file = torch.export.export(net, (x,), dynamic_shapes=({0: torch.export.Dim('rows', max=64)},)), io.BytesIO()
    torch.export.save(made, tmp_path / 'net.pt2')
    torch.export.save(made, file)
    file.seek(0)
    for loaded in torch.export.load(tmp_path / 'net.pt2'), torch.export.load(file):
        assert torch.equal(loaded.module()(x), net(x)) and torch.equal(loaded.module()(x[:2]), net(x[:2]))
        assert loaded.range_constraints == made.range_constraints == {'rows': (1, 64)}
    assert torch.equal(tenon.graph.load(tmp_path / 'net.pt2')(x), net(x)) and 'linear(' in repr(made)
    with pytest.raises(NotImplementedError, match='extra_files'):
        torch.export.save(made, tmp_path / 'net.pt2', extra_files={'notes': 'x'})


def test_a_program_is_written_as_a_model(tmp_path):
    x, net = torch.randn(5, 3), nn.Linear(3, 4)
    made = torch.export.export(net, (x,), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    torch.onnx.export(made, (x,), tmp_path / 'net.onnx', verify=True, output_names=['y'])
    model = tenon.onnx.load(tmp_path / 'net.onnx')
    assert torch.allclose(model(x[:2]), net(x[:2])) and model.results[0][0] == 'y'


def test_what_cannot_be_exported_is_refused():
    class Branch(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x
    with pytest.raises(RuntimeError, match='test_export.py'):
        torch.export.export(Branch(), (torch.ones(2),))
    with pytest.raises(TypeError, match='tuple'):
        torch.export.export(nn.Linear(2, 2), torch.ones(2))
    made = torch.export.export(nn.Linear(2, 2), (torch.ones(2),))
    with pytest.raises(RuntimeError, match=r'module\(\)'):
        made(torch.ones(2))
    with pytest.raises(NotImplementedError, match='mode'):
        made.module().eval()
    with pytest.raises(AttributeError, match='is not offered here'):
        torch.export.draft_export(nn.Linear(2, 2), (torch.ones(2),))
