"""What the records of ops say about shapes is true: each text that this can read is compared with the example of its op, and with
calls
of other shapes if the text says how those arise."""
import pathlib
import re
import sys

import pytest
import tenon

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tools'))
import generate_ops  # noqa: E402

OPS = {op.name: op for op in generate_ops.parse_ops([ROOT / 'ops'])}
NAME = r'[a-z_]\w*'
# "x (N, C, spatial…)": an operand or result and its dimensions.
SHAPED = re.compile(rf'({NAME}(?:(?:,| and) {NAME})*) \(([^)]*)\)')


def sizes(tensor):
    return tuple(tensor.shape)


class Example:
    """An op's example, run: what the op was given, by the schema's names, and what it returned."""

    def __init__(self, op, **changed):
        self.op, self.call, self.given = op, tenon.op(op.name), None

        def record(*args, **named):
            self.given, self.args, self.named = {**dict(zip((a.name for a in op.args), args)), **named}, args, named
            return self.call(*args, **named)
        source = op.facts['example'].replace(f'tenon.{op.name}(', 'op(').replace(f"tenon.op('{op.name}')(", 'op(')
        source = re.sub(r'\)\.\w+$', ')', source)  # the op's own result, not a field of it
        eval(source, {'tenon': tenon, 'op': record, 't': tenon.tensor})
        if self.given is None:
            raise LookupError('the example does not call the op by its name')
        # As written if nothing changes, because integers of a list may be given one by one.
        results = self.call(**{**self.given, **changed}) if changed else self.call(*self.args, **self.named)
        self.results = list(results) if isinstance(results, tuple) else [results]
        self.given = {**{a.name: None for a in op.args}, **self.given, **changed}

    def shape_of(self, name):
        return sizes(self.given[name])


def operands(op):
    return [a.name for a in op.args if a.type == 'Tensor' and not a.list]


# ---- One function for each kind of text; each asserts, and gets what its pattern found

def like(op, found):
    example = Example(op)
    for result in example.results:
        assert sizes(result) == example.shape_of(found['name'])


def broadcast(op, _):
    names = [name for name in operands(op) if isinstance(Example(op).given[name], tenon.Tensor)]
    first = Example(op).given[names[0]].reshape(-1)[:1].expand(2, 1)
    rest = {name: Example(op).given[name].reshape(-1)[:1].expand(3) for name in names[1:]}
    wanted = (2, 3) if rest else (2, 1)
    assert sizes(Example(op, **{names[0]: first}, **rest).results[0]) == wanted


def shape_argument(op, _):
    example = Example(op)
    assert all(sizes(result) == tuple(example.given['shape']) for result in example.results)


def reduced(op, _):
    x = tenon.ones((2, 3, 4), dtype=Example(op).given['x'].dtype)
    assert sizes(Example(op, x=x, dims=None).results[0]) == ()
    assert sizes(Example(op, x=x, dims=[1]).results[0]) == (2, 4)
    assert sizes(Example(op, x=x, dims=[0, -1], keepdim=True).results[0]) == (1, 3, 1)


def reduced_along(op, _):
    x = tenon.ones((2, 3))
    assert sizes(Example(op, x=x, dim=0).results[0]) == (3,)
    assert sizes(Example(op, x=x, dim=None).results[0]) == ()


def those_of(op, found):
    example = Example(op)
    names = re.findall(NAME, found['names'].replace(' and ', ' ').replace('of ', ''))
    for name, result in zip(names, example.results, strict=True):
        if example.given.get(name) is not None:  # the backward op may not need it
            assert sizes(result) == example.shape_of(name)


def loss(op, _):
    x, target = tenon.ones((2, 1)) / 2, tenon.ones((3,)) / 2
    assert sizes(Example(op, x=x, target=target).results[0]) == ()
    assert sizes(Example(op, x=x, target=target, reduction='none').results[0]) == (2, 3)


def view(op, _):
    example = Example(op)
    example.given['x'].fill_(77)
    assert (example.results[0] == 77).any(), 'the result does not see what is written to x'


def normalised(op, _):
    x, shape = tenon.ones((2, 3, 4)), [3, 4]
    y, *statistics = Example(op, x=x, shape=shape, weight=None, **({'bias': None} if 'bias' in operands(op) else {})).results
    assert sizes(y) == (2, 3, 4)
    assert [sizes(s) for s in statistics] == [(2, 1, 1)] * len(statistics)


def along(op, _):
    x = tenon.reshape(tenon.arange(0, 6, 1, dtype=tenon.float32), [2, 3])
    assert [sizes(r) for r in Example(op, x=x, k=2, dim=1).results] == [(2, 2)] * 2


def rank(op, found):
    example = Example(op)
    wanted = {'rank 0': 0, 'one dimension': 1}[found['rank']]
    assert [result.ndim for result in example.results] == [wanted]
    if found['size']:
        assert sizes(example.results[0]) == (example.given[found['size']],)


def in_place(op, _):
    assert op.results == []
    Example(op)


def unify(pattern, shape, known):
    """Maps the letters of a pattern to sizes; "…" stands for any number of dimensions."""
    parts = [part.strip() for part in pattern.split(',') if part.strip()]
    many = [i for i, part in enumerate(parts) if part.endswith('…')]
    assert len(many) <= 1
    if many:
        i, extra = many[0], len(shape) - len(parts) + 1
        assert extra >= 0, f'({pattern}) is no shape {shape}'
        known.setdefault(parts[i], shape[i:i + extra])
        # Dimensions that a window or a size changes have another name: "spatial…", then "size…".
        assert known[parts[i]] == shape[i:i + extra]
        parts[i:i + 1] = [f'{parts[i]}{k}' for k in range(extra)]
    assert len(parts) == len(shape), f'({pattern}) is no shape {shape}'
    for part, size in zip(parts, shape):
        factor, _, letter = part.rpartition('·')
        letter, _, divisor = letter.partition('/')
        if divisor:
            continue  # the quotient of a size and an argument
        if letter.isdigit():
            assert size == int(letter)
        else:
            assert known.setdefault(letter, size // int(factor or 1)) * int(factor or 1) == size, f'{letter} of ({pattern}) is {size}'


def patterns(op, found):
    example, known = Example(op), {}
    takes, *gives = re.split(' gives? ', found[0].split('; ')[0] if found[0].count(' give ') > 1 else found[0])
    gives = ''.join(gives)
    for names, pattern in SHAPED.findall(takes):
        for name in re.findall(NAME, names.replace(' and ', ' ')):
            if name == 'statistics':
                for result in example.results[1:]:
                    unify(pattern, sizes(result), {**known, 'groups': example.given.get('groups')})
            elif example.given[name] is not None:
                unify(pattern, example.shape_of(name), known)
    named = SHAPED.findall(gives)
    for names, pattern in named:
        for name in re.findall(NAME, names.replace(' and ', ' ')):
            unify(pattern, sizes(example.results[op.results.index(name)]), known)
    if not named and '(' in gives:
        unify(re.search(r'\(([^)]*)\)', gives)[1], sizes(example.results[0]), known)


def matrices(op, found):
    example, known = Example(op), {}
    for name, pattern in zip(operands(op), re.findall(r'\(([^)]*)\)', found[0].split(' give ')[0])):
        unify(pattern, example.shape_of(name), known)
    unify(re.search(r'\(([^)]*)\)', found[0].split(' give ')[1])[1], sizes(example.results[0]), known)


READERS = [
    (r"(?:the )?(?P<name>[a-z_]+)'s?(?:, both|, of rank 2 or more; each matrix on its own|; rank 0 counts as one row|"
     r'; `dim` counts from the end if it is negative)?', like),
    (r'broadcast', broadcast), (r'`shape`', shape_argument),
    (r"as `sum`|x's without `dims` \(absent: all\), of size 1 with `keepdim`", reduced),
    (r"x's without `dim`; rank 0 if it is absent", reduced_along),
    (r"x's with `k` along `dim`, both", along),
    (r'those of (?P<names>[\w, ]+)', those_of),
    (r'x and target broadcast together\. One number, or with reduction "none" that shape', loss),
    (r"a view of x's memory wherever strides can express it", view),
    (r"y has x's; (?:mean and rstd have|rstd has) x's with size 1 along the normalised dimensions", normalised),
    (r'(?P<rank>rank 0|one dimension)(?: of `?(?P<size>\w+)`?)?', rank),
    (r'written in place, each list entry on its own(?:; factor has one element)?', in_place),
    (r'\(…?,? ?m, k\) and .* give .*', matrices),
    (rf'{NAME}(?:,? (?:and )?{NAME})* \((?!.*\) or ).*', patterns),
]


def reader(op):
    for pattern, read in READERS:
        if found := re.fullmatch(pattern, op.text_of('shapes')):
            return read, found
    return None


def calls_itself(op):
    example = op.facts['example']
    return f'tenon.{op.name}(' in example or f"tenon.op('{op.name}')(" in example


READ = [name for name, op in OPS.items() if reader(op) and calls_itself(op)]


@pytest.mark.parametrize('name', READ)
def test_shapes_are_those_of_the_text(name):
    read, found = reader(OPS[name])
    read(OPS[name], found)


def test_most_texts_are_read():
    assert len(READ) >= 180, sorted(set(OPS) - set(READ))


def test_readers_can_fail():
    for name, text in (('neg', '`shape`'), ('sum', "x's"), ('matmul', "x's"), ('linear', 'x (…, in), weight (in, out), bias (out) give (…, out)')):
        facts = {**OPS[name].facts, 'shapes': text}
        wrong = generate_ops.Op(**{f.name: getattr(OPS[name], f.name) for f in generate_ops.dataclasses.fields(OPS[name]) if f.name != 'facts'},
                                facts=facts)
        read, found = reader(wrong)
        with pytest.raises((AssertionError, KeyError, TypeError)):
            read(wrong, found)
