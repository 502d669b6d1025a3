"""Calls of a part of the package with arguments that do not fit; run by test_bad_input.py in a process of its own.

    bad_calls.py PART MARKER         calls everything; the file MARKER names the call that runs
    bad_calls.py PART MARKER NAME    the calls of one function only, each told before it is made
"""
import itertools
import mmap
import os
import random
import re
import resource
import sys
import types
import warnings
import weakref

import numpy as np

import tenon

ALLOWED = (TypeError, ValueError, IndexError, tenon.Error)
CALLS = 40  # random calls, besides one for each bad value alone
# Not functions of arguments: exception classes, modules, and what would end or load something.
LEFT_OUT = {'Error', 'annotations'}


class Hostile:
    """Looks like everything and is nothing."""
    def __index__(self):
        raise ValueError('no index')
    __float__ = __int__ = __len__ = __bool__ = __index__

    def __dlpack__(self, **_):
        raise ValueError('nothing to export')

    def __array__(self, *_, **__):
        raise ValueError('no array')

    def __dlpack_device__(self):
        return 'nowhere'


class Foreign:
    """Another library's tensor, whose memory is gone or of a kind that tenon does not support."""
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


class Shrinking(list):
    """A list that is shorter when it is read again."""
    def __len__(self):
        return super().__len__() + 2


def tensors():
    base = tenon.arange(24, dtype=tenon.float32).reshape(2, 3, 4)
    grad = tenon.ones((2, 3)).requires_grad_()
    return [tenon.asarray(2.5), tenon.zeros((0, 3)), tenon.ones((2, 3)), tenon.asarray([True, False, True]),
            tenon.asarray([-7, 2, 99999]), tenon.asarray([1, 2], dtype='uint64'), tenon.asarray([1 + 2j, 0]),
            tenon.ones(3, dtype='float16'), tenon.ones((2, 2), dtype='bfloat16'), tenon.full((3,), float('nan')),
            grad, grad * 2, base.T, base[:, ::-2], tenon.ones((1, 1, 2, 1, 3)), tenon.expand(tenon.ones(1), (2 ** 12,)),
            tenon.ones((1,) * 16), tenon.asarray(np.iinfo(np.int64).min), tenon.asarray([[0]], dtype='int8')]


def values():
    consumed = tenon.ones(2).__dlpack__()
    tenon.from_dlpack(Foreign(consumed))
    released = memoryview(bytearray(8))
    released.release()
    frozen = np.ones((2, 3))
    frozen.flags.writeable = False

    class Gone(tenon.Tensor):
        pass
    dead = weakref.proxy(Gone(tenon.ones(2)))
    return [None, True, 0, 1, -1, 5, 2 ** 31, -2 ** 63, 2 ** 62, 2 ** 64 - 1, 2 ** 100, 1.5, -0.0, float('nan'), float('inf'),
            1e308, 1j, '', 'cpu', 'nowhere:7', 'float32', 'ij,jk->ik', '\ud800', '\0', b'abc', [], [1], [1, [2]], (), (2, 3), (-1,),
            (0, 0), (2 ** 40, 2 ** 40), (1,) * 20, ('a',), [None], {}, {1: 2}, object(), int, len, tenon.float32, tenon.bool,
            tenon.device('cpu'), tenon.Generator(1), slice(None), Ellipsis, Hostile(), Foreign(consumed), Foreign(None),
            Foreign(tenon.ones(2).__dlpack__()), Shrinking([1, 2]), released, dead, np.float32(2), np.int64(3), frozen,
            np.ones(3, '>f4'), np.array(['a']), np.array([None]), np.ones(2, 'datetime64[s]'), np.zeros((0, 2)),
            [tenon.ones(2), tenon.ones(3)], (tenon.ones((2, 2)), None), [tenon.ones(2)] * 2]


# Methods with names like these that take what a user passes, such as __call__ of a dataset or module.
SPECIAL = ('__call__', '__getitem__', '__eq__', '__iter__', '__len__', '__setstate__', '__getattr__')


def datasets():
    pairs = tenon.data.TensorDataset(tenon.ones((4, 2)), tenon.arange(4))
    return [pairs, tenon.data.Subset(pairs, [2, 0]), tenon.data.ConcatDataset([pairs, pairs]), tenon.data.SequentialSampler(pairs),
            tenon.data.RandomSampler(pairs), tenon.data.WeightedRandomSampler([1., 2.], 3),
            tenon.data.BatchSampler(tenon.data.SequentialSampler(pairs), 2), tenon.data.DataLoader(pairs, 2)]


def members(*modules):
    return [(f'{module.__name__}.{name}', value, False) for module in modules for name, value in vars(module).items()
            if name[0] != '_' and getattr(value, '__module__', '').startswith(module.__name__)]


def functions(part):
    """(name, callable, whether a tensor comes first) of a part of the package."""
    if part == 'methods':
        found = [(name, getattr(tenon.Tensor, name, None), True) for name in dir(tenon.Tensor)
                 if name not in ('__class__', '__init_subclass__', '__subclasshook__', '__getattribute__', '__setattr__',
                                 '__delattr__', '__dir__', '__reduce_ex__', '__sizeof__', '__new__', '__init__')]
    elif part == 'autograd':
        found = [(name, value, False) for name, value in vars(tenon.autograd).items() if name[0] != '_']
    elif part == 'modules':
        found = members(tenon.nn, tenon.optim, tenon.func, tenon.testing, tenon.linalg, tenon.fft)
    elif part == 'data':
        found = members(tenon.data, tenon.io)
    elif part == 'objects':
        things = (tenon.device('cpu'), tenon.Generator(1), tenon.float32, tenon.add, tenon.finfo(tenon.float32),
                  tenon.__array_namespace_info__(), tenon.nn.Linear(3, 2), tenon.optim.SGD([tenon.nn.Parameter(tenon.ones(2))], 0.1),
                  *datasets())
        found = [(f'{type(thing).__name__}.{name}', getattr(thing, name), False) for thing in things for name in dir(thing)
                 if (name[0] != '_' or name in SPECIAL) and callable(getattr(thing, name))]
    else:
        found = [(name, value, False) for name, value in vars(tenon).items()
                 if name[0] != '_' and isinstance(value, tenon.Op) == (part == 'ops')]
    return [each for each in found if callable(each[1]) and each[0] not in LEFT_OUT
            and not isinstance(each[1], types.ModuleType)
            and not (isinstance(each[1], type) and issubclass(each[1], BaseException))]


NAMES = ('dtype', 'device', 'axis', 'dim', 'keepdims', 'out', 'shape', 'copy', 'generator', 'x', 'k', 'nothing')
DATA_NAMES = ('batch_size', 'shuffle', 'sampler', 'batch_sampler', 'num_workers', 'collate_fn', 'drop_last', 'seed', 'metadata',
              'device', 'generator', 'indices', 'timeout')


def calls(name, method):
    """(number, arguments, named arguments): the same in each run."""
    rng = random.Random(name)
    bad, good = values(), tensors() + (datasets() if name.startswith('tenon.data') else [])
    for number, value in enumerate(bad):
        yield number, ([rng.choice(good)] if method else []) + [value], {}
    names = DATA_NAMES if name.startswith(('tenon.data', 'tenon.io')) else NAMES
    for number in range(len(bad), len(bad) + CALLS):
        count = rng.choice((0, 1, 1, 2, 2, 3, 4, 6))
        args = [rng.choice(good if rng.random() < 0.55 else bad) for _ in range(count)]
        if rng.random() < 0.3:
            args = [[*args]]
        if method or rng.random() < 0.4:
            args.insert(0, rng.choice(good) if rng.random() < 0.97 else rng.choice(bad))
        yield number, args, {n: rng.choice(bad + good) for n in rng.sample(names, rng.choice((0, 0, 0, 1, 1, 2)))}


def tell(args, named):
    def text(x):
        if type(x) is weakref.ProxyType:  # of a dead tensor: every access raises
            return 'proxy'
        if isinstance(x, (list, tuple)):
            return f'{type(x).__name__}[{", ".join(map(text, x))}]'
        return f'Tensor{x.shape}:{x.dtype}' if type(x) is tenon.Tensor else repr(x)[:60]
    return ', '.join([text(x) for x in args] + [f'{key}={text(value)}' for key, value in named.items()])


def attempt(function, x):
    try:
        function(x)
    except ALLOWED:
        pass


def run(part, path, only=None):
    warnings.simplefilter('ignore')
    # Sizes are either small or unobtainable, so that nothing computes for long. AddressSanitizer maps far more and has a limit of its own
    # (tests/python/meson.build).
    if 'asan' not in os.environ.get('LD_PRELOAD', ''):
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    wrong, made = [], 0
    with open(path, 'r+b') as file, mmap.mmap(file.fileno(), 256) as marker:
        for name, function, method in functions(part):
            if only not in (None, name):
                continue
            for number, args, named in calls(name, method):
                marker[:] = f'{name} call {number}'.encode().ljust(256)
                made += 1
                if only:
                    print(number, tell(args, named), flush=True)
                try:
                    result = function(*args, **named)
                    if part == 'modules' and isinstance(result, tenon.nn.Module):
                        for x in tensors():
                            made += 1
                            attempt(result, x)
                    if part == 'data' and hasattr(result, '__iter__') and not getattr(result, 'num_workers', 0):
                        list(itertools.islice(result, 3))
                    if name == 'Device.set_memory_limit':
                        function(0)
                except ALLOWED:
                    pass
                except ReferenceError:  # the proxy of a dead tensor
                    pass
                except BaseException as error:
                    if name in ('__dlpack__', 'from_dlpack') and isinstance(error, BufferError):  # as DLPack requires
                        continue
                    if isinstance(error, NotImplementedError) and re.search(' has no | is not offered: ', str(error)):
                        continue  # a class that its user must complete, or a function of PyTorch's that says what to use instead
                    if name == 'tenon.data.DataLoader' and isinstance(error, KeyError):
                        continue  # the error of the dict that took the dataset's place
                    if name.startswith('tenon.testing') and isinstance(error, AssertionError):
                        continue  # the error of a check
                    if method and isinstance(error, AttributeError) and not isinstance(args[0], tenon.Tensor):
                        continue  # Tensor.f(something else)
                    wrong.append(f'{name} call {number}: {type(error).__name__}: {str(error)[:200]}; {tell(args, named)}')
    print(made, 'calls')
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(run(*sys.argv[1:]))
