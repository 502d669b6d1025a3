"""What the records of ops say about dtypes is true: each example is run with its operands in every dtype."""
import pathlib
import re
import sys

import pytest
import tenon

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'tools'))
import generate_ops  # noqa: E402

OPS = {op.name: op for op in generate_ops.parse_ops([ROOT / 'ops'])}
FLOATING = {'f16', 'bf16', 'f32', 'f64'}
INTEGERS = {'u8', 'u32', 'i8', 'i64'}
COMPLEX = {'c64', 'c128'}
ALL = FLOATING | INTEGERS | COMPLEX | {'bool'}
SETS = {'any': ALL, 'numeric': ALL - {'bool'}, 'real': FLOATING | INTEGERS, 'floating': FLOATING, 'integers': INTEGERS,
        'integer': INTEGERS, 'bool': {'bool'}, 'complex': COMPLEX}
NAMES = {'u8': 'uint8', 'u32': 'uint32', 'i8': 'int8', 'i64': 'int64', 'f16': 'float16', 'bf16': 'bfloat16', 'f32': 'float32',
         'f64': 'float64', 'c64': 'complex64', 'c128': 'complex128', 'bool': 'bool'}
SHORT = {long: short for short, long in NAMES.items()}
# `any`, `real and bool`, `any but complex`; what follows in the same clause says how several operands agree.
TAKES = re.compile(r'(any|numeric|real|floating|integers)(?: and (bool))?(?: but (bool|complex))?(?:, promoted|, one of \w+)?')
# Clauses that say how operands agree and leave the dtypes to another clause; without that one all dtypes are accepted.
AGREE = re.compile(r"promoted(?: to a common dtype, which the result has)?|(?:the )?[a-z_]+'s?|\w[\w ]* promoted")
COMMON = re.compile(r'a floating dtype, common to [\w ]+')
SAME = re.compile(r'as in `(\w+)`')
NOT = re.compile(r'not (bool|complex)')
# An operand that is a number makes bools integers.
NUMBER = re.compile(r'\), -?[\d.]+\)$')
INTEGER = re.compile(r'(?:the )?(\w+) (?:is an integer|are integers)')
GIVES = re.compile(r"(?P<of>integers and bool|integers|complex numbers) give (?P<dtype>\w+)|the result has [a-z_]+'s?|(?P<all>bool|i64)")


def clauses(op):
    return [clause.strip() for clause in op.text_of('dtypes').split(';')]


def taken(op):
    """The dtypes that the text names; None if it speaks of something else first."""
    if found := SAME.fullmatch(clauses(op)[0]):
        return taken(OPS[found[1]])
    if COMMON.fullmatch(clauses(op)[0]):
        return FLOATING
    agree = AGREE.fullmatch(clauses(op)[0])
    for clause in clauses(op)[1:] if agree else clauses(op)[:1]:
        if found := NOT.fullmatch(clause):
            return ALL - SETS[found[1]]
        # "promoted; bool" describes the result.
        if (found := TAKES.fullmatch(clause)) and not (agree and clause == 'bool'):
            base, also, but = found.groups()
            return (SETS[base] | SETS.get(also, set())) - SETS.get(but, set())
    return ALL if agree else None


def given(op, dtype):
    """The result's dtype for operands of one dtype; None if the text does not say."""
    says = [found for clause in clauses(op)[1:] if (found := GIVES.fullmatch(clause))]
    for found in says:
        if found['all']:
            return found['all']
        if found['of'] and any(dtype in SETS[word] for word in re.findall('integers|bool|complex', found['of'])):
            return found['dtype']
    return dtype if says else None


def run(op, dtype):
    """The example with every tensor of the first one's kind in that dtype."""
    kinds = []

    def t(values, *rest, **named):
        made = tenon.tensor(values, *rest, **named)
        kinds.append(made.dtype)
        return made.to(getattr(tenon, NAMES[dtype])) if made.dtype == kinds[0] else made
    # The op itself: the function of that name may be the Array API's, which accepts more.
    result = eval(op.facts['example'].replace(f'tenon.{op.name}(', 'op('), {'tenon': tenon, 'op': tenon.op(op.name), 't': t})
    return result[0] if isinstance(result, tuple) else result


READ = [name for name in OPS if taken(OPS[name]) is not None and re.search(r'\bt\(', OPS[name].facts['example'])]


@pytest.mark.parametrize('name', READ)
def test_dtypes_are_those_of_the_text(name):
    op, wrong = OPS[name], []
    for dtype in sorted(ALL - {'bool'} if NUMBER.search(op.facts['example']) else ALL):
        try:
            result = run(op, dtype)
        except (ValueError, TypeError, RuntimeError) as error:
            if dtype in taken(op):
                wrong.append(f'{dtype} is refused: {error}')
            continue
        if dtype not in taken(op):
            wrong.append(f'{dtype} is taken')
        elif isinstance(result, tenon.Tensor) and given(op, dtype) not in (None, SHORT.get(str(result.dtype).split('.')[-1])):
            wrong.append(f'{dtype} gives {result.dtype}, not {given(op, dtype)}')
    assert not wrong, f"{op.text_of('dtypes')!r}: " + '; '.join(wrong)


INDEXED = [(name, found[1]) for name in OPS for clause in clauses(OPS[name])
           if (found := INTEGER.fullmatch(clause)) and f'tenon.{name}(' in OPS[name].facts['example']]


@pytest.mark.parametrize('name, index', INDEXED)
def test_an_index_is_an_integer(name, index):
    op = OPS[name]

    def run_with(dtype):
        # In an example whose other operands are floats, the integers are the index.
        def t(values, *rest, **named):
            made = tenon.tensor(values, *rest, **named)
            return made.to(getattr(tenon, NAMES[dtype])) if made.dtype == tenon.int64 else made
        eval(op.facts['example'].replace(f'tenon.{name}(', 'op('), {'tenon': tenon, 'op': tenon.op(name), 't': t})
    for dtype in sorted(INTEGERS - {'u8'}):  # which may be a mask
        run_with(dtype)
    with pytest.raises(ValueError, match='integer|index|dtype'):
        run_with('f32')


def test_most_texts_are_read():
    assert len(READ) >= 195, len(READ)
    assert len(INDEXED) >= 8, INDEXED
