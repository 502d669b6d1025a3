#!/usr/bin/env python3
"""Generates the docstrings and the stubs of the Python package from the op table and tools/op_docs.txt.

usage: generate_python.py core/ops.def tools/op_docs.txt --docs python/tenon/_op_docs.py --package python/tenon
The examples are run, and their results written down: PYTHONPATH must lead to a built package.
"""
import argparse
import pathlib
import re
import sys

import generate_ops

# Shape rule of the table: what the shapes are, and the dtypes.
BROADCAST = 'The operands broadcast together.'
SAME = 'The result has the shape of {first}.'
REDUCED = 'The result lacks `dims`, or has size 1 there with keepdim; none given: all.'
FLOAT = 'floating or complex; integers and bools become the default float, float32'
REAL = 'floating; integers and bools become float32'
LOSS = 'One number, or with reduction "none" the shape of {}.'
LOSSES = 'x and target broadcast together. One number, or with reduction "none" that shape.'
RULES = {
    'unary_arith': (SAME, 'numbers'), 'unary_abs': (SAME, 'numbers; of complex ones a real result'),
    'unary_round': (SAME, 'real; integers stay as they are'), 'unary_float': (SAME, FLOAT), 'unary_real': (SAME, REAL),
    'unary_test': (SAME, 'any; the result is bool'), 'unary_bits': (SAME, 'integers and bool'), 'unary_copy': (SAME, 'any'),
    'binary_arith': (BROADCAST, 'any, promoted; a number takes the dtype of the tensor'),
    'binary_float': (BROADCAST, FLOAT), 'binary_real': (BROADCAST, 'real, promoted'),
    'binary_real_float': (BROADCAST, REAL), 'binary_complex': (BROADCAST, 'floating; the result is complex'),
    'binary_bits': (BROADCAST, 'integers and bool'), 'binary_shift': (BROADCAST, 'integers'),
    'compare': (BROADCAST, 'any; the result is bool'), 'compare_order': (BROADCAST, 'real; the result is bool'),
    'where': (BROADCAST, 'a bool condition; x and y of any, promoted'), 'clamp': (SAME, 'real'),
    'cast': (SAME, 'any'), 'to_device': (SAME, 'any'), 'full': ('`shape`.', 'any; without one that of the value'),
    'full_like': (SAME, 'any'), 'arange': ('One dimension.', 'real'), 'linspace': ('One dimension of `num`.', 'floating'),
    'eye': ('(n, m).', 'any'), 'matrix': (SAME, 'any'), 'random_real': ('`shape`.', 'floating'),
    'random_int': ('`shape`.', 'integers'), 'randperm': ('(n,).', 'integers'), 'bernoulli': (SAME, 'floating'),
    'dropout_mask': (SAME, 'floating'), 'view': ('As the arguments say.', 'any'),
    'reduce_sum': (REDUCED, 'numbers; small integers and bools are summed as int64'), 'reduce_order': (REDUCED, 'real'),
    'reduce_float': (REDUCED, FLOAT), 'reduce_real': (REDUCED, REAL), 'reduce_bool': (REDUCED, 'any; the result is bool'),
    'reduce_arg': ('The result lacks `dim`, or has size 1 there with keepdim.', 'real; the result is int64'),
    'scan': (SAME, 'numbers'), 'along_dim': (SAME, 'floating'), 'along_dim2': ('All have one shape.', 'floating'),
    'sort': ('The results have the shape of {first}.', 'real; positions are int64'),
    'topk': ('The results have size k along `dim`.', 'real; positions are int64'),
    'searchsorted': ('The result has the shape of values.', 'real; the result is int64'),
    'dynamic': ('The sizes depend on the elements.', 'any'),
    'matmul': ('(…, n, k) by (…, k, m) gives (…, n, m); one dimension is a vector.', 'numbers, promoted'),
    'scaled_matmul': ('(m, k) by (k, n) gives (m, n); the scales have rank 0, bias is (n).',
                      'a and b float8_e4m3fn or float8_e5m2; scales float32; the result `dtype`: float32, float16 or bfloat16'),
    'linear': ('x (…, k), weight (m, k), bias (m) give (…, m).', 'floating'),
    'conv': ('x (N, C, spatial…) and weight (O, C/groups, kernel…).', 'floating'),
    'concat': ('All sizes but that of `dim` are equal.', 'any, promoted'),
    'embedding': ('The shape of index, then that of a row.', 'any weight; an integer index'),
    'gather': ('The result has the shape of index.', 'any; an integer index'),
    'scatter': (SAME, 'any; an integer index'), 'index_select': ('The size of index along `dim`.', 'any; an integer index'),
    'index_add': (SAME, 'any; an integer index'), 'index': ('As NumPy\'s x[indices].', 'any; integer or bool indices'),
    'index_put': (SAME, 'any; integer or bool indices'), 'roll': (SAME, 'any'), 'like_first': (SAME, 'any'),
    'step': ('Lists of one length; entries of one shape.', 'floating'),
    'conv_backward_input': ('`shape`; g has the shape of conv\'s result.', 'numbers'),
    'conv_backward_weight': ('`shape`; g has the shape of conv\'s result.', 'numbers'),
    'max_pool': ('x (N, C, spatial…), 1 to 3 spatial dimensions; both results (N, C, windows…).', 'real; positions are int64'),
    'avg_pool': ('x (N, C, spatial…), 1 to 3 spatial dimensions; the result (N, C, windows…).', 'floating'),
    'adaptive_pool': ('x (N, C, spatial…) gives (N, C, size…).', 'floating'),
    'adaptive_max_pool': ('x (N, C, spatial…) gives (N, C, size…) twice.', 'real; positions are int64'),
    'pool_backward': ('`shape`; g has the shape of the result of what this is the gradient of.', 'floating'),
    'pool_backward_indices': ('`shape`; g and indices have one shape.', 'real; indices int64'),
    'interpolate': ('x (N, C, spatial…) gives (N, C, size…).', 'floating'),
    'pad': ('Each size grows by its two pads.', 'any'), 'pad_backward': ('Each size shrinks by its two pads.', 'numbers'),
    'embedding_backward': ('g has the shape of index, then that of a row; the result is (rows, row…).', 'any; an integer index'),
    'attention': ('q (B, H, L, E), k (B, K, S, E), v (B, K, S, F), K dividing H; mask broadcasts to (B, H, L, S); y (B, H, L, F), '
                  'lse (B, H, L).', 'floating, promoted; a bool or floating mask'),
    'attention_backward': ('As attention: g and y are like y, lse and glse like lse; gq, gk and gv have the shapes of q, k and v.',
                           'floating, promoted; a bool or floating mask'),
    'layer_norm': ('y has the shape of x, weight and bias the given one; statistics have size 1 in the dimensions normalised.', REAL),
    'layer_norm_backward': ('g and gx have the shape of x, gweight and gbias the given one.', REAL),
    'rms_norm_backward': ('g and gx have the shape of x, gweight the given one.', REAL),
    'group_norm': ('x (N, C, …) and y have one shape; weight and bias are (C,), mean and rstd (N, groups).', REAL),
    'group_norm_backward': ('g and gx have the shape of x (N, C, …), gweight and gbias (C,).', REAL),
    'batch_norm': ('x (N, C, …) and y have one shape; all else is (C,).', REAL),
    'batch_norm_backward': ('g and gx have the shape of x (N, C, …); all else is (C,).', REAL),
    'nll_loss': ('log_probs (C,), (N, C) or (N, C, …); target without C. ' + LOSS.format('target'), 'floating; an integer target'),
    'nll_loss_backward': ('The result has the shape of log_probs.', 'floating; an integer target'),
    'multi_norm': ('One number; the tensors may have any shapes.', 'floating'),
}
# Of ops made of other ops, which have no rule: by name.
COMPOSITES = {
    'mish': (SAME, REAL), 'selu': (SAME, REAL), 'hardsigmoid': (SAME, REAL), 'hardswish': (SAME, REAL),
    'log_sigmoid': (SAME, 'real; integers become float32'), 'lerp': (BROADCAST, 'numbers, promoted; integers become float32'),
    'masked_fill': (BROADCAST, 'any x and value, promoted; a bool mask'), 'dropout': (SAME, 'any; floating in training'),
    'std': (REDUCED, REAL), 'count_nonzero': (REDUCED, 'any; the result is int64'), 'argsort': (SAME, 'real; positions are int64'),
    'einsum': ('As the equation says.', 'numbers, promoted'),
    'conv_transpose': ('x (N, C, spatial…), weight (C, O/groups, kernel…), bias (O).', 'numbers'),
    'take': ('The shape of index; x counts as flat.', 'any; an integer index'),
    'stack': ('All have one shape; the result has their number at `dim`.', 'any, promoted'),
    'repeat': ('Each size times its repeat, which may name new leading dimensions.', 'any'),
    'tile': ('Each size times its repeat; missing repeats at the front are 1.', 'any'),
    'one_hot': ('The shape of index, then classes.', 'an integer index; the result is int64'),
    'cross_entropy': ('logits (C,), (N, C) or (N, C, …); target without C, or probabilities of the shape of logits. '
                      + LOSS.format('logits without C'), REAL + '; an integer target, or one like logits'),
    'mse_loss': (LOSSES, 'numbers, promoted; integers become float32'), 'l1_loss': (LOSSES, 'numbers, promoted; integers become float32'),
    'smooth_l1_loss': (LOSSES, 'real, promoted; integers become float32'), 'bce_loss': (LOSSES, REAL),
    'bce_with_logits_loss': (LOSSES, 'real; integers become float32'), 'kl_div_loss': (LOSSES, REAL),
}
WORDS = {'Tensor': 'Tensor', 'int': 'int', 'float': 'float', 'bool': 'bool', 'str': 'str', 'Scalar': 'Scalar',
         'dtype': 'DTypeLike', 'device': 'DeviceLike', 'generator': 'Generator'}


def read_texts(path):
    texts = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if line.strip() and not line.startswith('#'):
            name, what, example = (part.replace('\0', '|').strip() for part in line.replace('\\|', '\0').split(' | ', 2))
            texts[name] = what, re.sub(r'\bt\(', 'tenon.tensor(', example)
    return texts


def errors_of(op):
    kinds = ['TypeError: an argument of another type.']
    if any(a.name in ('dim', 'dims', 'index', 'indices') for a in op.args):
        kinds.append('IndexError: a dimension or an index out of range.')
    if any(a.type == 'Tensor' for a in op.args):
        kinds.append('ValueError: shapes, dtypes or devices that do not fit; the message names them.')
    elif any(a.name == 'shape' for a in op.args):
        kinds.append('ValueError: a negative size; MemoryError: more than there is.')
    return kinds


def result_of(example, tenon):
    scope = {'tenon': tenon}
    try:
        value = eval(example, scope)
    except Exception as error:
        sys.exit(f'error: {example}: {error}')
    return None if value is None else repr(value)


def docstring(op, text, tenon):
    what, example = text
    shape, dtypes = COMPOSITES[op.name] if op.rule == 'composite' else RULES[op.rule]
    lines = [f'{op.name}{op.schema}', '', what, '']
    lines += ['Shapes: ' + shape.format(first=op.args[0].name), 'Dtypes: ' + dtypes + '.']
    lines.append({'none': 'Gradient: none.', 'zero': 'Gradient: zero.'}.get(op.gradient, 'Gradient: yes.'))
    lines += ['Raises ' + kind for kind in errors_of(op)]
    lines += ['', '>>> ' + example]
    result = result_of(example, tenon)
    return '\n'.join(lines + ([result] if result is not None else []))


def write_docs(ops, texts, path):
    import tenon
    out = ['"""Docstrings of the ops. Generated by tools/generate_python.py (./dev docs) from core/ops.def and tools/op_docs.txt."""',
           'DOCS = {']
    for op in ops:
        if op.name not in texts:
            sys.exit(f'error: {op.name} has no line in tools/op_docs.txt')
        text = docstring(op, texts[op.name], tenon)
        body = text.replace('\\', '\\\\').replace('"""', '\\"\\"\\"')
        out.append(f'    {op.name!r}: """{body}\n""",')
    extra = set(texts) - {op.name for op in ops}
    if extra:
        sys.exit(f'error: tools/op_docs.txt tells of ops that are not in the table: {", ".join(sorted(extra))}')
    pathlib.Path(path).write_text('\n'.join(out + ['}']) + '\n')


def annotation(arg, number):
    word = WORDS[arg.type]
    if arg.type == 'Tensor' and number and not arg.list:
        word = 'Tensor | complex'
    if arg.list:
        word = 'Sequence[int] | int' if arg.type == 'int' else 'Sequence[Tensor | None]' if arg.name == 'indices' else f'Sequence[{word}]'
    return word + (' | None' if arg.optional else '')


def signature(op, first):
    parts = ['self'] if first else []
    for arg in op.args[1 if first else 0:]:
        default = {'none': ' = None', 'true': ' = True', 'false': ' = False', None: ''}.get(arg.default, f' = {arg.default}')
        parts.append(f'{arg.name}: {annotation(arg, generate_ops.takes_number(op, arg))}{default}')
    many = 'None' if not op.results else 'Tensor' if len(op.results) == 1 else f'{op.name}_result'
    return f'def {op.name}({", ".join(parts)}) -> {many}: ...'


def write_stubs(ops, path):
    out = ['# Generated by tools/generate_python.py (./dev docs) from core/ops.def: the ops as functions.',
           'from collections.abc import Sequence', 'from typing import NamedTuple', '',
           'from ._core import DeviceLike, DTypeLike, Generator, Scalar, Tensor', '']
    for op in ops:
        if len(op.results) > 1:
            out += [f'class {op.name}_result(NamedTuple):'] + [f'    {name}: Tensor' for name in op.results] + ['']
    out += [signature(op, False) for op in ops]
    pathlib.Path(path).write_text('\n'.join(out) + '\n')


BINARY = 'add sub mul truediv floordiv mod pow matmul and or xor lshift rshift'.split()
# What Tensor has by hand and no op may hide; a method that shadows a type's name comes last in the class.
BY_HAND = {'to', 'clone'}
TAIL = """
__version__: str
ops: dict[str, Op]
synonyms: tuple[tuple[str, ...], ...]
def op(name: str, in_place: bool = False) -> Op: ...
def as_dtype(object: DTypeLike) -> dtype: ...
def promote_types(a: DTypeLike, b: DTypeLike) -> dtype: ...
def device(name: DeviceLike) -> Device: ...
def devices() -> list[Device]: ...
def plugins() -> list[dict[str, Any]]: ...
def load_plugin(path: str) -> None: ...
def manual_seed(seed: int) -> None: ...
def default_generator() -> Generator: ...
def num_threads() -> int: ...
def set_num_threads(n: int) -> None: ...
"""


def spread(op):
    """A list of integers that comes last may be given one by one."""
    last = op.args[-1]
    return len(op.args) > 1 and last.list and last.type == 'int'


def write_core_stub(ops, head, in_place, path):
    out = [pathlib.Path(head).read_text().rstrip()]
    for name in BINARY:
        out.append(f'    def __{name}__(self, other: Tensor | complex) -> Tensor: ...')
        out.append(f'    def __r{name}__(self, other: complex) -> Tensor: ...')
        out.append(f'    def __i{name}__(self, other: Tensor | complex) -> Tensor: ...')
    for name in ('lt', 'le', 'gt', 'ge', 'eq', 'ne'):
        out.append(f'    def __{name}__(self, other: Tensor | complex) -> Tensor: ...  # type: ignore[override]')
    out += [f'    def __{name}__(self) -> Tensor: ...' for name in ('neg', 'pos', 'abs', 'invert')]
    for op in ops:
        if op.args and op.args[0].type == 'Tensor' and not op.args[0].list and op.name not in BY_HAND:
            text = signature(op, True)
            if spread(op):
                text = text.replace(f'{op.args[-1].name}: Sequence[int] | int', f'*{op.args[-1].name}: Sequence[int] | int') \
                    .replace(' | None = None)', ')')
            out.append('    ' + text)
            if op.name in in_place:
                out.append('    ' + signature(op, True).replace(f'def {op.name}(', f'def {op.name}_(', 1))
    out.append(TAIL.rstrip())
    names = 'bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128 ' \
        'float8_e4m3fn float8_e5m2'
    out += [f'{name}: dtype' for name in names.split()]
    pathlib.Path(path).write_text('\n'.join(out) + '\n')


def in_place_names(methods):
    found = re.search(r"IN_PLACE = \((.*?)\)\.split", pathlib.Path(methods).read_text(), re.S)
    return set(' '.join(re.findall(r"'([^']*)'", found[1])).split())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('table')
    parser.add_argument('texts')
    parser.add_argument('--docs')
    parser.add_argument('--package', help='folder of the package: writes _core.pyi and _ops.pyi')
    options = parser.parse_args()
    ops = generate_ops.parse_table(options.table)
    if options.package:
        package = pathlib.Path(options.package)
        write_stubs(ops, package / '_ops.pyi')
        write_core_stub(ops, pathlib.Path(__file__).with_name('python_core.pyi.in'),
                        in_place_names(pathlib.Path(__file__).parents[1] / 'python/tenon/_methods.py'), package / '_core.pyi')
    if options.docs:
        write_docs(ops, read_texts(options.texts), options.docs)


if __name__ == '__main__':
    main()
