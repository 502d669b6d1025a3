#!/usr/bin/env python3
"""Generates from the op table (core/ops.def) the C++ functions, the schema strings for plugins, and docs/ops.md."""
import argparse
import dataclasses
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TYPES = ('Tensor', 'int', 'float', 'bool', 'str', 'Scalar', 'dtype', 'device', 'generator')
# Elementwise rules whose tensor operands may be numbers, and single arguments of other ops that may.
NUMBER_RULES = ('binary_arith', 'binary_float', 'binary_real', 'binary_real_float', 'binary_complex',
                'binary_bits', 'binary_shift', 'compare', 'compare_order')
NUMBER_ARGS = {'where': ('x', 'y'), 'lerp': ('y', 'weight'), 'masked_fill': ('value',)}
CPP_KEYWORDS = {'auto', 'case', 'char', 'class', 'const', 'default', 'delete', 'do', 'double', 'else', 'enum', 'export',
                'float', 'for', 'if', 'inline', 'int', 'new', 'operator', 'private', 'public', 'register', 'return',
                'short', 'signed', 'static', 'struct', 'switch', 'template', 'this', 'union', 'using', 'void', 'while'}
ENTRY = re.compile(r'OP(_REV)?\(\s*([a-z][a-z0-9_]*)\s*,\s*(?:(\d+)\s*,\s*)?"((?:[^"\\]|\\.)*)"\s*,'
                   r'\s*([a-z][a-z0-9_]*)\s*,\s*([a-z][a-z0-9_]*)\s*\)$')
ARG = re.compile(r'([A-Za-z]+)(!)?(\?)?(\[\])?(\?)? ([a-z][a-z0-9_]*)(?:=(.+))?$')


class TableError(Exception):
    pass


@dataclasses.dataclass
class Arg:
    type: str
    name: str
    written: bool
    list: bool
    optional: bool  # the argument itself, not its entries
    default: str | None


@dataclasses.dataclass
class Op:
    name: str
    schema: str
    revision: int
    rule: str
    gradient: str
    section: str
    args: list
    results: list  # (type, name or '')

    @property
    def text(self):
        return f'{self.name}{self.schema} @{self.revision}'


def split_top(text):
    """Splits at commas that are not inside brackets or quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif not quoted and c in '([':
            depth += 1
        elif not quoted and c in ')]':
            depth -= 1
        elif c == ',' and not depth and not quoted:
            parts.append(text[start:i].strip())
            start = i + 1
    if depth or quoted:
        raise TableError(f'unbalanced brackets or quotes in "{text}"')
    if text.strip():
        parts.append(text[start:].strip())
    return parts


def check_default(arg):
    d = arg.default
    if d is None:
        return
    if d == 'none':
        if not arg.optional:
            raise TableError(f'argument {arg.name}: only an optional one may default to none')
        return
    patterns = {'int': r'-?\d+', 'float': r'-?\d+(\.\d+)?(e-?\d+)?', 'bool': r'true|false', 'str': r'"[^"]*"',
                'Scalar': r'-?\d+(\.\d+)?'}
    pattern = r'\[(-?\d+(, ?-?\d+)*)?\]' if arg.list and arg.type == 'int' else patterns.get(arg.type)
    if (arg.list and arg.type != 'int') or pattern is None or not re.fullmatch(pattern, d):
        raise TableError(f'argument {arg.name}: "{d}" is no default for its type')


def parse_arg(text):
    m = ARG.match(text)
    if not m:
        raise TableError(f'malformed argument "{text}"')
    kind, written, mark1, is_list, mark2, name, default = m.groups()
    if kind not in TYPES:
        raise TableError(f'argument {name}: unknown type {kind} (there are {", ".join(TYPES)})')
    if is_list and kind not in ('Tensor', 'int'):
        raise TableError(f'argument {name}: no lists of {kind}')
    if written and kind != 'Tensor':
        raise TableError(f'argument {name}: only a Tensor can be written')
    if mark1 and is_list and kind != 'Tensor':
        raise TableError(f'argument {name}: only entries of a tensor list may be absent')
    optional = bool(mark2) if is_list else bool(mark1)
    arg = Arg(kind, name, bool(written), bool(is_list), optional, default)
    check_default(arg)
    return arg


def parse_schema(schema):
    m = re.fullmatch(r'\((.*)\) -> (.+)', schema)
    if not m:
        raise TableError('a schema is "(arguments) -> results"')
    args = [parse_arg(part) for part in split_top(m[1])]
    names = [a.name for a in args]
    for name in names:
        if names.count(name) > 1:
            raise TableError(f'argument {name} appears twice')
    for before, after in zip(args, args[1:]):
        if before.default is not None and after.default is None:
            raise TableError(f'argument {after.name} has no default, but {before.name} before it has')
    if m[2] == '()':
        return args, []
    results = []
    for part in split_top(m[2]):
        r = re.fullmatch(r'Tensor(?: ([a-z][a-z0-9_]*))?', part)
        if not r:
            raise TableError(f'malformed result "{part}"')
        results.append(r[1] or '')
    if len(results) > 1 and not all(results):
        raise TableError('every one of several results needs a name')
    return args, results


def parse_table(path):
    ops, section, seen = [], '', set()
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        text = line.strip()
        heading = re.match(r'// (.+?) -{3,}$', text)
        if heading:
            section = heading[1]
        if not text or text.startswith('//'):
            continue
        try:
            m = ENTRY.match(text)
            if not m or bool(m[1]) != bool(m[3]):
                raise TableError('expected OP(name, "schema", rule, gradient) or OP_REV(name, revision, …)')
            schema = m[4].replace('\\"', '"')
            if m[2] in seen:
                raise TableError(f'{m[2]} is there already')
            seen.add(m[2])
            args, results = parse_schema(schema)
            ops.append(Op(m[2], schema, int(m[3] or 1), m[5], m[6], section, args, results))
        except TableError as error:
            raise TableError(f'{path}:{number}: {error}') from None
    if not ops:
        raise TableError(f'{path}: no ops')
    return ops


def identifier(name):
    return name + '_' if name in CPP_KEYWORDS else name


def camel(name):
    return ''.join(part.capitalize() for part in name.split('_'))


def takes_number(op, arg):
    if arg.type != 'Tensor' or arg.list or arg.optional:
        return False
    return op.rule in NUMBER_RULES or arg.name in NUMBER_ARGS.get(op.name, ())


def parameter(op, arg):
    """The C++ parameter, and the tn_value made of it."""
    name, default, none = identifier(arg.name), arg.default, arg.default == 'none'
    value = f'detail::value({name})'
    if arg.type == 'Tensor' and arg.list:
        kind = 'TensorList'
    elif arg.type == 'Tensor':
        kind = 'Operand' if takes_number(op, arg) else 'const Tensor&'
    elif arg.type == 'int' and arg.list:
        kind = 'OptionalInts' if arg.optional else 'IntList'
        if default and not none:
            default = re.sub(r'\[(.*)\]', r'{\1}', default)
    elif arg.type == 'device':
        kind = 'Device'
    elif arg.type == 'generator':
        kind = 'const Generator&'
    else:
        plain = {'int': 'int64_t', 'float': 'double', 'bool': 'bool', 'str': 'std::string_view', 'Scalar': 'const Scalar&',
                 'dtype': 'DType'}[arg.type]
        if arg.optional:
            kind = 'const OptionalScalar&' if arg.type == 'Scalar' else f'std::optional<{plain}>'
        else:
            kind = plain
    if default is None:
        return f'{kind} {name}', value
    return f'{kind} {name} = {"{}" if none else default}', value


def cpp_function(op):
    parameters, values = zip(*(parameter(op, arg) for arg in op.args))
    name = identifier(op.name)
    returns = 'void' if not op.results else 'Tensor' if len(op.results) == 1 else camel(op.name) + 'Result'
    lines = []
    if len(op.results) > 1:
        fields = ', '.join(op.results)
        lines.append(f'struct {returns} {{\n  Tensor {fields};\n}};')
    call = f'detail::op_{op.name}, args, {len(values)}'
    if not op.results:
        body = f'  detail::call_void({call});\n'
    elif len(op.results) == 1:
        body = f'  return detail::call({call});\n'
    else:
        n = len(op.results)
        adopted = ', '.join(f'Tensor::adopt(outs[{i}])' for i in range(n))
        body = f'  tn_tensor* outs[{n}];\n  detail::call_many({call}, outs, {n});\n  return {{{adopted}}};\n'
    lines.append(f'inline {returns} {name}({", ".join(parameters)}) {{\n'
                 f'  const tn_value args[] = {{{", ".join(values)}}};\n{body}}}\n')
    return '\n'.join(lines)


def make_hpp(ops):
    handles = '\n'.join(f'inline constinit OpHandle op_{op.name}{{"{op.name}"}};' for op in ops)
    functions = '\n'.join(f'// {op.text}\n{cpp_function(op)}' for op in ops)
    return f'''// Generated from core/ops.def: one function per op.
#ifndef TENON_OPS_HPP
#define TENON_OPS_HPP

#include "tenon/call.hpp"

namespace tenon {{
namespace detail {{
{handles}
}}  // namespace detail

{functions}
}}  // namespace tenon
#endif
'''


def make_schemas(ops):
    def quote(text):
        return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'
    lines = '\n'.join(f'#define TN_SCHEMA_{op.name.upper()} {quote(op.text)}' for op in ops)
    return f'''/* Generated from core/ops.def: the schema of every op, as tn_kernel.op takes it. */
#ifndef TENON_SCHEMAS_H
#define TENON_SCHEMAS_H

{lines}

#endif
'''


ABOUT = """# Ops

Generated by `./dev docs` from `core/ops.def`, `tools/op_docs.txt` and `tools/op_rules.txt`. Plugins implement ops by the schemas
below; what a kernel is then given, and until when, is in [kernels.md](sdk/kernels.md).

- *dtypes*: what the op takes; what it gives, where that is another. "Promoted": operands of different dtypes are cast to a common one
  as the Array API says, and numbers take the tensors' dtype. "Real" is integers and floats, "floating" f16, bf16, f32 and f64.
  The 8-bit floats are stored, cast and moved, and multiplied by `scaled_matmul` only.
- *shapes*: those of the results. "Broadcast": sizes are compared from the last dimension on; they are equal, or one of them is 1 or
  absent. A tensor of rank 0 holds one element and has the dimensions 0 and -1 where an op wants one. Sizes of 0 are fine unless the op
  needs an element (`max` of nothing).
- *gradient*: a formula, *through* the op's decomposition, or none.

## Tolerances

A kernel is right when `tenon check` says so: each element lies within `t * max(1, |wanted|)` of the result in double precision, where `t` is

| dtype | f64, c128 | f32, c64 | f16 | bf16 | integers, bool |
|---|---|---|---|---|---|
| t | 1e-13 | 4e-6 | 2e-3 | 1.6e-2 | 0 |

times a factor that the suite has for ops that add much up (`sdk/conformance/samples/`). The coarser of the operands' and the result's
dtype counts. NaN and infinities are wanted where the formula gives them. The same call gives the same bits again; only ops that add
into places by index (`scatter_add`, `index_add`, backward ops) may add in any order.
"""


def read_rows(path, fields):
    """Lines "key | field | …" of a file; comments begin with #."""
    rows = {}
    for line in pathlib.Path(path).read_text().splitlines():
        if line.strip() and not line.startswith('#'):
            key, *rest = (part.strip() for part in line.split(' | '))
            rows[key] = rest[:fields]
    return rows


def make_docs(ops):
    texts, rules = read_rows(HERE / 'op_docs.txt', 1), read_rows(HERE / 'op_rules.txt', 2)
    if missing := sorted({op.rule for op in ops} - rules.keys()):
        raise TableError(f'tools/op_rules.txt says nothing about the shape rule {missing[0]}')
    if unused := sorted(rules.keys() - {op.rule for op in ops}):
        raise TableError(f'tools/op_rules.txt speaks of the shape rule {unused[0]}, which no op has')
    lines, section = [ABOUT], None
    for op in ops:
        if op.section != section:
            section = op.section
            lines += ['', f'## {section}', '', '| op | what it gives | dtypes | shapes | gradient |', '|---|---|---|---|---|']
        if op.name not in texts:
            raise TableError(f'tools/op_docs.txt says nothing about {op.name}')
        gradient = {'none': '–', 'through': '*through*'}.get(op.gradient, 'yes')
        cells = [f'`{op.text}`', *(text.replace('|', '\\|') for text in (*texts[op.name], *rules[op.rule])), gradient]
        lines.append(f'| {" | ".join(cells)} |')
    return '\n'.join(lines) + '\n'


def write_if_changed(path, text):
    """An unchanged file keeps its time, so that nothing is rebuilt for it."""
    path = pathlib.Path(path)
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('table', help='core/ops.def')
    parser.add_argument('--hpp', help='writes the C++ functions')
    parser.add_argument('--schemas', help='writes the C header of schema strings')
    parser.add_argument('--docs', help='writes the Markdown list of ops')
    options = parser.parse_args()
    try:
        ops = parse_table(options.table)
        for path, make in ((options.hpp, make_hpp), (options.schemas, make_schemas), (options.docs, make_docs)):
            if path:
                write_if_changed(path, make(ops))
    except (TableError, OSError) as error:
        sys.exit(f'error: {error}')


if __name__ == '__main__':
    main()
