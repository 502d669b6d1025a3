"""What the records of ops say of dtypes is what the ops take and give: each example is run with its operands in every dtype."""
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
TAKES = re.compile(r'(any|numeric|real|floating|integers)(?: and (bool))?(?: but (bool|complex))?(?:, promoted)?')
GIVES = re.compile(r"(?P<of>integers and bool|integers|complex numbers) give (?P<dtype>\w+)|the result has x's|(?P<all>bool|i64)")


def clauses(op):
    return [clause.strip() for clause in op.text_of('dtypes').split(';')]


def taken(op):
    """The dtypes that the text names; None where it speaks of something else first."""
    found = TAKES.fullmatch(clauses(op)[0])
    if not found:
        return None
    base, also, but = found.groups()
    return (SETS[base] | SETS.get(also, set())) - SETS.get(but, set())


def given(op, dtype):
    """The result's dtype for operands of one dtype; None where the text does not say it."""
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
    # The op itself: the function of that name may be the Array API's, which takes more.
    result = eval(op.facts['example'].replace(f'tenon.{op.name}(', 'op('), {'tenon': tenon, 'op': tenon.op(op.name), 't': t})
    return result[0] if isinstance(result, tuple) else result


READ = [name for name in OPS if taken(OPS[name]) is not None and re.search(r'\bt\(', OPS[name].facts['example'])]


@pytest.mark.parametrize('name', READ)
def test_dtypes_are_those_of_the_text(name):
    op, wrong = OPS[name], []
    for dtype in sorted(ALL):
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


def test_most_texts_are_read():
    assert len(READ) >= 120, len(READ)
