"""What the fuzzer of Python calls passes: good values by the names of parameters, hostile ones, and the names that expressions of both use.

A value is the text of an expression, so that a call that is found prints as the line that repeats it.
"""

import copy
import io
import itertools
import pickle
import weakref

import numpy as np

import tenon
import tenon.torch


class Raising:
    """Looks like everything, and raises."""

    def __index__(self):
        raise ValueError('not today')
    __float__ = __int__ = __len__ = __bool__ = __iter__ = __hash__ = __complex__ = __index__

    def __getattr__(self, name):
        raise ValueError(f'no {name}')


class Lying:
    """Says of itself what is not so."""

    def __init__(self, **answers):
        self.__dict__.update(answers)

    def __len__(self):
        return self.__dict__.get('len', 2 ** 62)

    def __index__(self):
        return self.__dict__.get('index', 2 ** 100)

    def __getitem__(self, key):
        if key == 9:
            raise IndexError
        return self.__dict__.get('item', self)


class Shrinking(list):
    """A list that is shorter when it is read."""

    def __len__(self):
        return super().__len__() + 2


class Emptied(list):
    """A list that loses its elements while it is read."""

    def __iter__(self):
        while self:
            yield self.pop()

    def __getitem__(self, key):
        self.clear()
        return 1


class Foreign:
    """Another library's tensor."""

    def __init__(self, capsule, device=(1, 0)):
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return self.device


class Array:
    """An array by NumPy's interface."""

    def __init__(self, **fields):
        self.__array_interface__ = {'version': 3, 'shape': (2,), 'typestr': '<f4', 'data': b'12345678', **fields}


class Overriding:
    """An object whose functions of PyTorch return nothing that fits."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return NotImplemented


class Gone(tenon.Tensor):
    pass


def consumed():
    capsule = tenon.ones(2).__dlpack__()
    tenon.from_dlpack(Foreign(capsule))
    return capsule


def dead():
    return weakref.proxy(Gone(tenon.ones(2)))


def endless(kind=list):
    """A list or dict that contains itself."""
    holder = kind()
    holder.append(holder) if kind is list else holder.update(a=holder)
    return holder


def deep(levels, kind=tuple):
    nested = 1
    for _ in range(levels):
        nested = kind([nested])
    return nested


def released():
    view = memoryview(bytearray(8))
    view.release()
    return view


def closed():
    generator = (x for x in [1])
    generator.close()
    return generator


def frozen():
    array = np.ones((2, 3), 'f4')
    array.flags.writeable = False
    return array


def emptied():
    """A tensor whose memory was given back."""
    x = tenon.torch.ones(2, 3)
    x.untyped_storage().resize_(0)
    return x


def raising(*_, **__):
    raise ValueError('raised by a callback')


def inference():
    with tenon.inference_mode():
        return tenon.ones(2, 3)


TENSORS = """
torch.tensor(2.5) torch.zeros(0,3) torch.zeros(0) torch.ones(2,3) torch.ones(3,2).t() torch.ones(1,1,2,1,3) torch.ones((1,)*16) torch.tensor([True,False,True])
torch.tensor([-7,2,99999]) torch.tensor([1,2],dtype=torch.uint8) torch.tensor([1+2j,0]) torch.ones(3,dtype=torch.float16)
torch.ones(2,2,dtype=torch.bfloat16) torch.full((3,),nan) torch.full((2,3),inf) torch.ones(2,3).requires_grad_()
torch.ones(2,3).requires_grad_()*2 torch.arange(24.).reshape(2,3,4)[:,::2] torch.ones(1).expand(4096) torch.ones(2,3).as_strided((3,3),(1,1))
torch.tensor(-2**63) torch.tensor([[-1]]) torch.tensor([2**62]) torch.tensor([[0]],dtype=torch.int8) torch.ones(2,3,device='meta')
torch.eye(3).to_sparse() torch.empty(2,3,dtype=torch.float8_e4m3fn) torch.ones(2,2,dtype=torch.float64) torch.nn.Parameter(torch.ones(3)) inference()
emptied() Gone(tenon.ones(2,3)) tenon.asarray([1,2],dtype='uint64') torch.zeros(2**31,0) torch.zeros(0,2**40) torch.ones(2,3,4,5,6) torch.zeros(3,0,2)
torch.arange(2*3*8*8.).reshape(2,3,8,8) torch.arange(6.).reshape(1,2,3)
""".split()
NUMBERS = """
True 0 1 -1 2 3 5 17 2**31 2**31-1 -2**31 2**40 2**62 2**63-1 2**63 -2**63 -2**63+1 2**64 2**100 -2**100 0.5 1.5 -0.0 -1.5 nan inf -inf 1e308 1e-320 1j
np.float32(2) np.int64(3) np.int8(-1) np.bool_(1)
""".split()
OTHERS = """
None '' 'x' 'mean' 'none' 'cpu' 'cuda' 'nowhere:7' 'cpu:99999999999999999999' 'float32' 'ij,jk->ik' '\\ud800' '\\0' '\\u0660' b'abc' 'x'*100000 [] () {} {1:2}
{'a':torch.ones(2)} [1] [1,[2]] (2,3) (-1,) (0,0) (2**40,2**40) (2**62,0) (2**63,) (-2**63,1) (1,)*70 (1,1,1) [2.5] ('a',) [None] (None,None) [nan] set() {1,2} frozenset([3])
range(3) iter([1]) slice(None) slice(2**62,-2**63,-1) slice('a') Ellipsis object() int len type torch.float32 torch.bool tenon.device('cpu')
torch.Generator() torch.device('meta') torch.strided torch np torch.Size([2,3]) torch.nn.Linear(3,2) torch.ones(4).untyped_storage() torch.sin raising (lambda*a:None) (lambda*a,**k:a)
Raising() Lying() Lying(len=-1) Lying(len=3,item=2.5) Lying(len='a',index='b') Lying(len=3,shape=(2**62,2**62),dtype='f4') Lying(shape=3,dtype=torch.float32,device='cpu')
Shrinking([1,2]) Emptied([1,2,3]) Emptied([torch.ones(2),torch.ones(2)]) Foreign(None) Foreign(consumed()) Foreign(1,(2,0)) Foreign(tenon.ones(2).__dlpack__(),'nowhere') Array()
Array(shape=(2**62,)) Array(shape=(-1,)) Array(shape='x') Array(typestr='<x9') Array(strides=(2**62,)) Array(data=None) Overriding() dead() endless() endless(dict) deep(200) deep(100000)
deep(2000,list) released() closed() frozen() np.ones(3,'>f4') np.array(['a']) np.array([None]) np.ones(2,'datetime64[s]') np.zeros((0,2)) np.array(3.) np.ones((2,3))[::-1,::2]
[torch.ones(2),torch.ones(3)] (torch.ones(2,2),None) [torch.ones(2)]*3 [torch.ones(2,3)]*2 {'a':endless()} io.BytesIO(b'abc') memoryview(b'abcd') Exception('x')
itertools.repeat(1,5) weakref.ref(Gone) bytearray(b'ab')
""".split()
HOSTILE = NUMBERS + OTHERS + TENSORS

# Good values, by the name of the parameter; what is not listed is a small tensor or number.
NAMED = {name: value for names, value in (
    ('input self x a tensor inputs outputs src source data obj sample value', 'x'), ('other y b target mat2 end weight vec2 tensor2', 'y'), ('tensors arrays', '[x,y]'), ('params parameters', '[torch.nn.Parameter(x)]'),
    ('dim axis dims dim0 start_dim', '0'), ('dim1 end_dim', '1'), ('size shape sizes output_size normalized_shape sample_shape repeats', '(2,3)'),
    ('index indices idx', 'torch.tensor([1,0])'), ('condition mask', 'b'), ('module model layer', 'torch.nn.Linear(3,2)'), ('optimizer', 'torch.optim.SGD([torch.nn.Parameter(x)],0.1)'),
    ('dataset', 'torch.utils.data.TensorDataset(torch.arange(6.))'), ('sampler', '[0,1,2]'), ('func f fn function', 'torch.sin'), ('dtype', 'torch.float64'), ('device', "'cpu'"), ('generator', 'torch.Generator()'),
    ('probs p', '0.3'), ('loc scale rate df concentration lr eps logits', 'torch.tensor([0.5,1.0])'), ('kernel_size stride', '2'), ('name key', "'weight'"), ('out', 'torch.empty(0)'),
    ('args', '(x,)'), ('kwargs keepdim keepdims', '{}'), ('file path filename', "'file'"), ('equation', "'ij,ij->i'")) for name in names.split()}


def world():
    """The names of expressions, those of tests/python/torch/expressions.txt and wrong_calls.txt among them, anew for each."""
    t = tenon.torch
    return {**HELPERS, 'tenon': tenon, 'torch': t, 't': t, 'nn': t.nn, 'F': t.nn.functional, 'O': t.optim, 'D': t.utils.data, 'L': t.linalg, 'FT': t.fft,
            'P': t.distributions, 'x': t.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]), 'y': t.tensor([[2.0, 1.0, 0.5], [1.0, 3.0, 2.0]]),
            'i': t.tensor([[3, 1, 2], [0, 5, 4]]), 'b': t.tensor([[True, False, True], [False, True, True]]), 'v': t.tensor([3.0, 1.0, 2.0]),
            'c': t.tensor([1 + 2j, 3 - 1j]), 'sq': t.tensor([[4.0, 1.0], [2.0, 3.0]]), 'img': t.arange(2 * 3 * 8 * 8, dtype=t.float32).reshape(2, 3, 8, 8) / 100,
            'seq': t.arange(24, dtype=t.float32).reshape(2, 3, 4) / 10, 'n': np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=np.float32),
            'g': t.tensor([[0.5, 1.0, 2.0], [3.0, 0.1, 4.0]], requires_grad=True)}


HELPERS = {each.__name__: each for each in (Raising, Lying, Shrinking, Emptied, Foreign, Array, Overriding, Gone, consumed, dead, endless, deep, released, closed,
                                            frozen, emptied, raising, inference)} | {
    'np': np, 'io': io, 'copy': copy, 'pickle': pickle, 'itertools': itertools, 'weakref': weakref, 'nan': float('nan'), 'inf': float('inf')}
