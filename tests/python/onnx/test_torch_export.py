"""torch.onnx.export with PyTorch's names: its arguments, and exported models compared with their modules, run by onnxruntime."""
import io

import numpy as np
import onnx
import onnxruntime
import pytest

import tenon.torch as torch
from tenon.torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Linear(8, 5)

    def forward(self, image, scale=None):
        x = nn.functional.relu(self.norm(self.conv(image)), inplace=True)
        x = nn.functional.adaptive_avg_pool2d(x, (1, 1))
        x = torch.flatten(x, 1)
        return self.head(x if scale is None else x * scale)


class Two(nn.Module):
    def forward(self, pair, extra):
        return {'sum': pair[0] + pair[1] + extra['z'], 'product': pair[0] @ pair[1].T}


def ran(model, *inputs):
    session = onnxruntime.InferenceSession(model if isinstance(model, bytes) else str(model), providers=['CPUExecutionProvider'])
    return session.run(None, {port.name: x.numpy() for port, x in zip(session.get_inputs(), inputs, strict=True)})


def shapes_of(path):
    graph = onnx.load(path).graph
    return {port.name: [d.dim_param or d.dim_value for d in port.type.tensor_type.shape.dim] for port in (*graph.input, *graph.output)}


def test_the_usual_export_call_of_tutorials(tmp_path):
    torch.manual_seed(0)
    model, path = Net(), tmp_path / 'net.onnx'
    model.train()
    with pytest.warns(UserWarning, match='opset 11 was asked for'):
        torch.onnx.export(model, torch.randn(1, 3, 16, 16), str(path), export_params=True, opset_version=11, do_constant_folding=True,
                          input_names=['input'], output_names=['output'], dynamic_axes={'input': {0: 'batch_size'}, 'output': {0: 'batch_size'}})
    assert model.training and model.norm.training and int(model.norm.num_batches_tracked) == 0
    assert shapes_of(path) == {'input': ['batch_size', 3, 16, 16], 'output': ['batch_size', 5]}
    onnx.checker.check_model(onnx.load(path), full_check=True)
    model.eval()
    for batch in (1, 7):
        x = torch.randn(batch, 3, 16, 16)
        np.testing.assert_allclose(ran(path, x)[0], model(x).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('norm_first', [False, True])
def test_layers_of_transformers(norm_first, tmp_path):
    """Layers whose self-attention and norms of sums are ops of several steps."""
    torch.manual_seed(0)
    layer, path = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first).eval(), tmp_path / 'layer.onnx'
    torch.onnx.export(layer, (torch.randn(2, 5, 8),), path, dynamic_axes={'src': {0: 'batch'}})
    for batch in (1, 3):
        x = torch.randn(batch, 5, 8)
        np.testing.assert_allclose(ran(path, x)[0], layer(x).detach().numpy(), rtol=1e-4, atol=1e-5)


DYNAMIC = {
    'names': {'dynamic_shapes': {'image': {0: 'n', 2: 'h', 3: 'w'}}},
    'dims': {'dynamic_shapes': {'image': {0: torch.export.Dim('n', min=1, max=64), 2: torch.export.Dim('h'), 3: torch.export.Dim('w')}, 'scale': None}},
    'a tuple': {'dynamic_shapes': ({0: 'n', 2: 'h', 3: 'w'}, None)},
    'axes': {'dynamic_axes': {'image': {0: 'n', 2: 'h', 3: 'w'}}},
    'hints': {'dynamic_shapes': {'image': {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.STATIC, 2: torch.export.Dim.AUTO, 3: 'w'}}},
    'a list of axes': {'dynamic_axes': {'image': [0, 2, 3]}},
}


@pytest.mark.parametrize('how', DYNAMIC)
def test_sizes_that_vary(how, tmp_path):
    torch.manual_seed(0)
    model = Net().eval()
    torch.onnx.export(model, (torch.randn(2, 3, 8, 8), torch.ones(8)), tmp_path / 'm.onnx', **DYNAMIC[how])
    named = shapes_of(tmp_path / 'm.onnx')['image']
    assert [isinstance(size, str) for size in named] == [True, False, True, True]
    x, scale = torch.randn(4, 3, 11, 9), torch.rand(8)
    np.testing.assert_allclose(ran(tmp_path / 'm.onnx', x, scale)[0], model(x, scale).detach().numpy(), rtol=1e-4, atol=1e-5)


def test_arguments_by_name_and_in_structures(tmp_path):
    model, x = Net().eval(), torch.randn(2, 3, 4, 4)
    for kwargs in ({'args': (x,), 'kwargs': {'scale': torch.ones(8)}}, {'args': (x, {'scale': torch.ones(8)})}):
        torch.onnx.export(model, f=tmp_path / 'm.onnx', **kwargs)
        assert list(shapes_of(tmp_path / 'm.onnx'))[:2] == ['image', 'scale']
    args = ((torch.randn(2, 3), torch.randn(2, 3)), {'z': torch.ones(1)}, {})
    axes = ({0: 'n'}, {0: 'n'}), {'z': None}
    torch.onnx.export(Two(), args, tmp_path / 'm.onnx', dynamic_shapes=axes, input_names=['a', 'b', 'z'], verify=True)
    assert shapes_of(tmp_path / 'm.onnx')['a'] == ['n', 3]
    a, b, z = torch.randn(5, 3), torch.randn(5, 3), torch.randn(1)
    for found, wanted in zip(ran(tmp_path / 'm.onnx', a, b, z), Two()((a, b), {'z': z}).values(), strict=True):
        np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-4, atol=1e-5)


class Bounded(nn.Module):
    """Its positions end at 16, as those of a GPT do."""

    def __init__(self):
        super().__init__()
        self.embed, self.positions = nn.Embedding(10, 4), nn.Parameter(torch.randn(16, 4))

    def forward(self, index):
        assert index.shape[1] <= 16
        return self.embed(index) + self.positions[:index.shape[1]] + nn.functional.one_hot(index, 10).float()[..., :4]


def test_modules_with_a_longest_input(tmp_path):
    torch.manual_seed(0)
    model = Bounded()
    torch.onnx.export(model, torch.randint(0, 10, (2, 6)), tmp_path / 'm.onnx', dynamic_axes={'index': {0: 'batch', 1: 'length'}})
    for shape in ((1, 1), (3, 16)):
        index = torch.randint(0, 10, shape)
        np.testing.assert_allclose(ran(tmp_path / 'm.onnx', index)[0], model(index).detach().numpy(), rtol=1e-5)


def test_programs_and_files():
    model, x = nn.Linear(3, 2), torch.randn(4, 3)
    file = io.BytesIO()
    program = torch.onnx.export(model, x, file)
    np.testing.assert_allclose(ran(file.getvalue(), x)[0], model(x).detach().numpy(), rtol=1e-5)
    again = io.BytesIO()
    program.save(again)
    assert again.getvalue() == file.getvalue() and torch.equal(program(x), model(x).detach())
    assert isinstance(program, torch.onnx.ONNXProgram) and not torch.onnx.is_in_onnx_export()


def test_modules_know_that_they_are_exported():
    seen = []
    torch.onnx.export(lambda x: (seen.append(torch.onnx.is_in_onnx_export()), x * 2)[1], torch.ones(2), io.BytesIO())
    assert seen == [True]


def test_training_can_be_kept():
    norm = nn.BatchNorm1d(3)
    with pytest.raises(RuntimeError, match='from outside the function'):
        torch.onnx.export(norm, torch.randn(4, 3), io.BytesIO(), training=torch.onnx.TrainingMode.TRAINING)


def test_wrong_options_are_named():
    model, x = Net().eval(), torch.randn(1, 3, 4, 4)
    with pytest.warns(UserWarning, match="dynamic_axes names 'imag'"):
        torch.onnx.export(model, x, io.BytesIO(), dynamic_axes={'imag': {0: 'n'}})
    with pytest.raises(ValueError, match='dynamic_shapes names imag; arguments are image'):
        torch.onnx.export(model, x, io.BytesIO(), dynamic_shapes={'imag': {0: 'n'}})
    with pytest.raises(TypeError, match='have a name alone'):
        torch.onnx.export(lambda x, *, y: x * y, x, io.BytesIO(), kwargs={'y': 2.0})
    with pytest.raises(NotImplementedError, match='with their weights'):
        torch.onnx.export(model, x, io.BytesIO(), export_params=False)
    with pytest.raises(AttributeError, match='tenon.graph.trace'):
        torch.export.draft_export(model, (x,))
