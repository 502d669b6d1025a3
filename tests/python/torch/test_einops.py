"""einops over tensors of tenon: values as over NumPy's arrays, gradients, layers, and either order of imports."""
import subprocess
import sys

import einops
import numpy as np
import pytest

import tenon
import tenon.torch as torch
from tenon.torch import einops as ours
from tenon.torch.einops.layers.torch import EinMix, Rearrange, Reduce

VALUES = np.random.default_rng(0).normal(size=(2, 3, 4, 6))
REARRANGED = [('b c h w -> b (c h w)', {}), ('b c (h p) (w q) -> b (h w) (p q c)', {'p': 2, 'q': 3}), ('b c h w -> w h 1 c b', {}), ('... w -> w ...', {})]
REDUCED = [(pattern, how) for pattern in ('b c h w -> b c', 'b c (h 2) (w 3) -> b h w', 'b c h w -> 1 c 1 1') for how in ('mean', 'sum', 'max', 'min', 'prod')]


@pytest.mark.parametrize(('pattern', 'sizes'), REARRANGED)
def test_rearrange(pattern, sizes):
    found = einops.rearrange(torch.from_numpy(VALUES), pattern, **sizes)
    assert isinstance(found, torch.Tensor) and np.array_equal(found.numpy(), einops.rearrange(VALUES, pattern, **sizes))
    assert np.array_equal(Rearrange(pattern, **sizes)(torch.from_numpy(VALUES)).numpy(), found.numpy())


@pytest.mark.parametrize(('pattern', 'how'), REDUCED)
def test_reduce(pattern, how):
    found = ours.reduce(torch.from_numpy(VALUES), pattern, how)
    assert found.numpy() == pytest.approx(einops.reduce(VALUES, pattern, how))
    assert np.array_equal(Reduce(pattern, how)(torch.from_numpy(VALUES)).numpy(), found.numpy())


@pytest.mark.parametrize('how', ['any', 'all'])
def test_reduce_of_masks(how):
    assert np.array_equal(ours.reduce(torch.from_numpy(VALUES) > 0, 'b c h w -> c w', how).numpy(), einops.reduce(VALUES > 0, 'b c h w -> c w', how))


def test_repeat_pack_einsum_and_lists():
    x = torch.from_numpy(VALUES)
    assert np.array_equal(ours.repeat(x, 'b c h w -> b (2 c) h (w 3)').numpy(), einops.repeat(VALUES, 'b c h w -> b (2 c) h (w 3)'))
    assert np.array_equal(ours.rearrange([x, x], 'n b c h w -> b n c h w').numpy(), einops.rearrange([VALUES, VALUES], 'n b c h w -> b n c h w'))
    packed, shapes = ours.pack([x, x[..., 0]], 'b c *')
    assert np.array_equal(packed.numpy(), einops.pack([VALUES, VALUES[..., 0]], 'b c *')[0])
    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(ours.unpack(packed, shapes, 'b c *'), [x, x[..., 0]]))
    assert ours.einsum(x, x, 'b c h w, b d h w -> b c d').numpy() == pytest.approx(np.einsum('bchw,bdhw->bcd', VALUES, VALUES))
    assert ours.parse_shape(x, 'b _ h w') == {'b': 2, 'h': 4, 'w': 6}


def test_gradients_go_through():
    x = torch.from_numpy(VALUES).requires_grad_()
    assert tenon.testing.gradcheck(lambda x: ours.rearrange(ours.reduce(x, 'b c (h 2) w -> b c h w', 'mean'), 'b c h w -> (b h) (c w)').sin(), (x,))


def test_layers_in_a_network_that_is_compiled():
    torch.manual_seed(0)
    net = torch.nn.Sequential(Rearrange('b c (h p) (w q) -> b (h w) (p q c)', p=2, q=3), EinMix('b n i -> b n o', weight_shape='i o', bias_shape='o', i=18, o=5),
                              torch.nn.GELU(), Reduce('b n o -> b o', 'mean'))
    x = torch.from_numpy(VALUES).float()
    rows = einops.rearrange(VALUES, 'b c (h p) (w q) -> b (h w) (p q c)', p=2, q=3) @ net[1].weight.detach().numpy() + net[1].bias.detach().numpy()
    wanted = torch.nn.functional.gelu(torch.from_numpy(rows)).mean(1)
    assert net(x).detach().numpy() == pytest.approx(wanted.numpy(), abs=1e-5)
    assert torch.compile(net)(x).detach().numpy() == pytest.approx(wanted.numpy(), abs=1e-5)
    assert sorted(net.state_dict()) == ['1.bias', '1.weight']


@pytest.mark.parametrize('imports', ['import einops, tenon.torch as torch', 'import tenon.torch as torch, einops', 'import tenon.torch as torch; from einops import rearrange; import einops'])
def test_the_order_of_imports_does_not_matter(imports):
    script = f"{imports}; print(einops.rearrange(torch.ones(2, 3), 'a b -> b a').shape)"
    done = subprocess.run([sys.executable, '-c', script], capture_output=True, text=True)
    assert done.stdout.strip() == 'torch.Size([3, 2])', done.stderr
