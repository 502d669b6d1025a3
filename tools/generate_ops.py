#!/usr/bin/env python3
"""Generates from the records of ops (TN_OP in ops/*.cpp) the C++ functions, the schemas and names of arguments, the declarations and
the table that the core reads, and docs/ops.md."""
from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import sys

TYPES = ('Tensor', 'int', 'float', 'bool', 'str', 'Scalar', 'dtype', 'device', 'generator')
CPP_KEYWORDS = {'auto', 'case', 'char', 'class', 'const', 'default', 'delete', 'do', 'double', 'else', 'enum', 'export',
                'float', 'for', 'if', 'inline', 'int', 'new', 'operator', 'private', 'public', 'register', 'return',
                'short', 'signed', 'static', 'struct', 'switch', 'template', 'this', 'union', 'using', 'void', 'while'}
OPENING = re.compile(r'^TN_(?:OP\((?P<op>\w+)\) = |RULE\(\s*(?P<rule>\w+),\s*\w+,\s*)(?={)', re.M)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
FACTS = {  # of a record, and how each is written
    'schema': 'string', 'gives': 'string', 'example': 'string', 'autocast': 'string', 'dtypes': 'string', 'shapes': 'string', 'numbers': 'string',
    'linear': 'string', 'elementwise': 'true', 'rule': '&rule::', 'gradient': '&gradient::', 'decompose': '&decomposition::', 'view': '&view::', 'run': '&run::',
    'through': 'true', 'updates_first': 'true', 'in_place': 'true', 'revision': 'number'}
# How autocast computes an op, by the fact's text: the names in the C++ header and in the documents.
PRECISIONS = {'low': ('low', 'in bf16 or f16, as the scope says'), 'f32': ('f32', 'in f32'),
              'f32 on GPUs': ('f32_on_gpus', 'in f32 but on the CPU'), 'widest': ('widest', 'in f32 where an operand is f32')}
RULE_FACTS = ('dtypes', 'shapes', 'elementwise', 'numbers', 'ordered', 'unchanged')
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
    section: str
    facts: dict  # of the record: texts without quotes, names of parts without their prefix
    rule: dict  # the facts of its rule; empty if it has none
    args: list
    results: list  # names; '' if there is one result

    def text_of(self, fact):
        """A text of the record, or of its rule if the record has none."""
        return self.facts.get(fact) or self.rule.get(fact, '')

    @property
    def elementwise(self):
        return 'elementwise' in self.facts or 'elementwise' in self.rule

    @property
    def text(self):
        return f"{self.name}{self.facts['schema']} @{self.facts.get('revision', 1)}"

    @property
    def differentiable(self):
        return 'gradient' in self.facts or 'through' in self.facts


def split_top(text):
    """Splits at commas that are not inside brackets or quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        if c == '"' and text[i - 1:i] != '\\':
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


def braced(text, start):
    """The text between the brace at `start` and its partner."""
    depth, at = 0, start
    while at < len(text):
        if quoted := STRING.match(text, at):
            at = quoted.end()
            continue
        depth += (text[at] == '{') - (text[at] == '}')
        if not depth:
            return text[start + 1:at]
        at += 1
    raise TableError('a brace without a partner')


def parse_facts(text, known):
    """{fact: value} of ".fact = value, …"; strings are joined and unquoted."""
    facts = {}
    for part in filter(None, split_top(text)):
        m = re.fullmatch(r'\.(\w+)\s*=\s*(.+)', part, re.S)
        if not m or m[1] not in known:
            raise TableError(f'expected ".FACT = value" with one of {", ".join(known)}, not "{part}"')
        strings = STRING.findall(m[2])
        facts[m[1]] = ''.join(strings).replace('\\"', '"').replace('\\\\', '\\') if strings else m[2].strip()
    return facts


def check_fact(name, value):
    kind = FACTS[name]
    if kind == 'true' and value != 'true' or kind == 'number' and not value.isdigit():
        raise TableError(f'.{name} = {value}: expected {"true" if kind == "true" else "a number"}')
    if kind.startswith('&') and not re.fullmatch(kind + r'\w+', value):
        raise TableError(f'.{name} = {value}: expected {kind}NAME')
    if name == 'autocast' and value not in PRECISIONS:
        raise TableError(f'.autocast = "{value}": expected one of {", ".join(PRECISIONS)}')
    return value[len(kind):] if kind.startswith('&') else value


def parse_record(name, text, section):
    facts = {key: check_fact(key, value) for key, value in parse_facts(text, FACTS).items()}
    for needed in ('schema', 'gives', 'example'):
        if needed not in facts:
            raise TableError(f'{name} has no .{needed}')
    ways = [way for way in ('rule', 'view', 'run', 'decompose') if way in facts]
    if not ways:
        raise TableError(f'{name} has none of .rule, .view, .run and .decompose')
    if 'gradient' in facts and 'through' in facts or 'through' in facts and 'decompose' not in facts:
        raise TableError(f'{name}: .through wants .decompose, and no .gradient')
    args, results = parse_schema(facts['schema'])
    tensors = [a.name for a in args if a.type == 'Tensor']
    for argument in facts.get('linear', '').replace(',', ' ').split():
        if argument not in tensors:
            raise TableError(f'{name}: .linear names {argument}, which is no tensor argument')
    return Op(name, section, facts, {}, args, results)


def parse_family(path):
    """The records and {rule: facts} of one file."""
    text = path.read_text()
    section = text.partition('\n')[0].removeprefix('// ').rstrip('.')
    ops, rules = [], {}
    for m in OPENING.finditer(text):
        try:
            inside = braced(text, m.end())
            if m['op']:
                ops.append(parse_record(m['op'], inside, section))
            else:
                rules[m['rule']] = parse_facts(inside, RULE_FACTS)
        except TableError as error:
            raise TableError(f'{path}:{text.count(chr(10), 0, m.start()) + 1}: {error}') from None
    if len(re.findall(r'^TN_RULE\(', text, re.M)) != len(rules):
        raise TableError(f'{path}: a TN_RULE is not TN_RULE(name, op, {{facts}})')
    return ops, rules


def files_of(path):
    """A file, or the files of a folder in the order of its meson.build."""
    path = pathlib.Path(path)
    if not path.is_dir():
        return [path]
    return [path / name for name in re.findall(r"^  '(\w+\.cpp)',$", (path / 'meson.build').read_text(), re.M)]


def parse_ops(paths):
    """All records in the order of the files."""
    ops, rules, seen = [], {}, {}
    for path in (file for given in paths for file in files_of(given)):
        family, own = parse_family(path)
        rules.update(own)
        for op in family:
            if op.name in seen:
                raise TableError(f'{path}: {op.name} is in {seen[op.name]} already')
            seen[op.name] = path
        ops += family
    for op in ops:
        op.rule = rules.get(op.facts.get('rule'), {})
        if 'rule' in op.facts and not op.rule:
            raise TableError(f"{seen[op.name]}: {op.name} has rule::{op.facts['rule']}, which no file writes")
        for fact in ('dtypes', 'shapes'):
            if not op.text_of(fact):
                raise TableError(f'{seen[op.name]}: neither {op.name} nor its rule has .{fact}')
    if not ops:
        raise TableError('no ops')
    return ops


def identifier(name):
    return name + '_' if name in CPP_KEYWORDS else name


def camel(name):
    return ''.join(part.capitalize() for part in name.split('_'))


def takes_number(op, arg):
    """Whether a number may stand for a tensor argument: .numbers is "all", or names it."""
    if arg.type != 'Tensor' or arg.list or arg.optional:
        return False
    numbers = op.text_of('numbers')
    return numbers == 'all' or arg.name in numbers.split()


def parameter(op, arg):
    """The C++ parameter, and the tn_value made from it."""
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
    returns = returned(op) if op.results else 'void'
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


# What tensor_class.hpp writes itself, because it does more than the op, or takes indices.
WRITTEN_METHODS = {'to', 'contiguous', 'index', 'index_put'}


def methods_of(ops):
    """The ops that are methods of Tensor: those of a tensor x, but for the formulas of gradients."""
    for op in ops:
        named = op.name not in WRITTEN_METHODS and not op.name.endswith('_backward')
        if named and op.args and op.args[0] == Arg('Tensor', 'x', written=False, list=False, optional=False, default=None):
            yield op


def without_default(declaration):
    return declaration.partition(' = ')[0]


def returned(op):
    return 'Tensor' if len(op.results) == 1 else camel(op.name) + 'Result'


def make_methods(ops):
    lines = []
    for op in methods_of(ops):
        parameters = ', '.join(parameter(op, arg)[0] for arg in op.args[1:])
        # 'struct' declares it in the namespace: its Tensors are not complete here.
        kind = '' if len(op.results) == 1 else 'struct '
        lines.append(f'{kind}{returned(op)} {identifier(op.name)}({parameters}) const;')
        if 'in_place' in op.facts:
            lines.append(f'Tensor& {op.name}_({parameters});')
    return '// Generated from ops/: the methods of Tensor that are ops. tensor_class.hpp includes this in the class.\n' + '\n'.join(lines) + '\n'


def method_bodies(op):
    declarations, values = zip(*(parameter(op, arg) for arg in op.args))
    parameters = ', '.join(without_default(declaration) for declaration in declarations[1:])
    given = ', '.join(['*this', *(identifier(arg.name) for arg in op.args[1:])])
    text = (f'inline {returned(op)} Tensor::{identifier(op.name)}({parameters}) const {{\n'
            f'  return tenon::{identifier(op.name)}({given});\n}}\n')
    if 'in_place' in op.facts:
        text += (f'inline Tensor& Tensor::{op.name}_({parameters}) {{\n'
                 f'  const tn_value args[] = {{{", ".join(["detail::value(*this)", *values[1:]])}}};\n'
                 f'  detail::call_into(detail::op_{op.name}, args, {len(values)}, *this);\n  return *this;\n}}\n')
    return text


def make_hpp(ops):
    handles = '\n'.join(f'inline constinit OpHandle op_{op.name}{{"{op.name}"}};' for op in ops)
    functions = '\n'.join(f'// {op.text}\n{cpp_function(op)}' for op in ops)
    methods = '\n'.join(method_bodies(op) for op in methods_of(ops))
    return f'''// Generated from ops/: one function per op, and methods of Tensor that call them.
#ifndef TENON_OPS_HPP
#define TENON_OPS_HPP

#include "tenon/call.hpp"

namespace tenon {{
namespace detail {{
{handles}
}}  // namespace detail

{functions}
{methods}
}}  // namespace tenon
#endif
'''


def positions(names):
    return ''.join(f'  static constexpr uint32_t {identifier(name)} = {i};\n' for i, name in enumerate(names))


def arg_struct(op):
    """struct conv { x = 0, weight = 1, … }, with the names of results nested in it."""
    results = f'  struct result {{\n  {positions(op.results).rstrip().replace(chr(10), chr(10) + "  ")}\n  }};\n' if any(op.results) else ''
    return f'struct {identifier(op.name)} {{\n{positions(a.name for a in op.args)}{results}}};'


def make_schemas(ops):
    def quote(text):
        return '"' + text.replace('\\', '\\\\').replace('"', '\\"') + '"'
    lines = '\n'.join(f'#define TN_SCHEMA_{op.name.upper()} {quote(op.text)}' for op in ops)
    places = '\n'.join(f'#define TN_{kind}_{op.name.upper()}_{name.upper()} {i}u' for op in ops
                       for kind, names in (('ARG', [a.name for a in op.args]), ('RESULT', op.results))
                       for i, name in enumerate(names) if name)
    structs = '\n'.join(arg_struct(op) for op in ops)
    return f'''/* Generated from ops/: the schema of every op, as tn_kernel.op takes it, and the positions of arguments and results by name. */
#ifndef TENON_SCHEMAS_H
#define TENON_SCHEMAS_H

{lines}

/* call->args[TN_ARG_CONV_STRIDE], call->outs[TN_RESULT_SORT_INDICES] */
{places}

#ifdef __cplusplus
#include <cstdint>

/* The same for C++: arg::conv::stride, arg::sort::result::indices. */
namespace tenon::arg {{
{structs}
}}  // namespace tenon::arg
#endif

#endif
'''


def named(ops, fact):
    return sorted({op.facts[fact] for op in ops if fact in op.facts})


def make_autocast(ops):
    lines = '\n'.join(f'    {{"{op.name}", Precision::{PRECISIONS[op.facts["autocast"]][0]}}},' for op in ops if 'autocast' in op.facts)
    return f'''// Generated from ops/: what autocast does not compute in the dtypes it is given.
#ifndef TENON_AMP_TABLE_HPP
#define TENON_AMP_TABLE_HPP

#include <cstdint>

namespace tenon::amp::detail {{

enum class Precision : uint8_t {{ {", ".join(name for name, _ in PRECISIONS.values())} }};

struct PrecisionOf {{
  const char* op;
  Precision precision;
}};
inline constexpr PrecisionOf kPrecisions[] = {{
{lines}
}};

}}  // namespace tenon::amp::detail
#endif
'''


def make_elementwise(ops):
    names = ',\n'.join(f'    "{op.name}"' for op in ops if 'elementwise' in op.rule)
    return f'''// Generated from ops/: what has a rule for each element by itself.
#pragma once

#include <string_view>

inline constexpr std::string_view kElementwise[] = {{
{names},
}};
'''


def make_declarations(ops):
    def declared(namespace, names, pattern):
        lines = '\n'.join(pattern.format(name) for name in names)
        return f'namespace {namespace} {{\n{lines}\n}}  // namespace {namespace}'
    spaces = '\n'.join((
        declared('entry', [identifier(op.name) for op in ops], 'extern const OpRecord {};'),
        declared('rule', named(ops, 'rule'), 'extern const Rule {};'),
        declared('gradient', named(ops, 'gradient'), 'extern const GradFormula {};'),
        declared('decomposition', named(ops, 'decompose'), 'void {}(Frame& frame, tn_tensor** outs);'),
        declared('view', named(ops, 'view'), 'tn_tensor* {}(Frame& frame, tn_tensor& x);'),
        declared('run', named(ops, 'run'), 'void {}(Frame& frame, tn_tensor** outs);')))
    return f'''// Generated from ops/: what the files there write, declared for each other.
#pragma once

namespace tenon::core {{
{spaces}
}}  // namespace tenon::core
'''


def make_table(ops):
    lines = '\n'.join(f'    {{"{op.name}", &entry::{identifier(op.name)}}},' for op in ops)
    return f'''// Generated from ops/: every record, in the order of the files.
#include "ops/record.hpp"

namespace tenon::core {{
constinit const NamedRecord kTable[] = {{
{lines}
}};
constinit const std::span<const NamedRecord> kRecords = kTable;
}}  // namespace tenon::core
'''


ABOUT = """# Ops

Generated by `./dev docs` from the records in `ops/`. Plugins implement ops by the schemas below; [kernels.md](sdk/kernels.md) says what a
kernel gets, and for how long.

- *dtypes*: those of the operands, and of the results where they differ. "Promoted" means that operands of different dtypes are cast to a
  common one as the Array API says, and that numbers take the tensors' dtype. "Real" is integers and floats, "floating" f16, bf16, f32 and
  f64. The 8-bit floats can only be stored, cast, moved, and multiplied by `scaled_matmul`.
- *shapes*: those of the results. "Broadcast" compares sizes from the last dimension on: they must be equal, or one of them 1 or absent. A
  tensor of rank 0 holds one element; an op along a dimension accepts 0 and -1 for it. Sizes of 0 are fine unless the op needs an element
  (`max` of nothing).
- *gradient*: a formula, *through* the op's decomposition, or none.

## Tolerances

A kernel is correct if `tenon check` passes: each element must be within `t * max(1, |expected|)` of the result in double precision, where `t` is

| dtype | f64, c128 | f32, c64 | f16 | bf16 | integers, bool |
|---|---|---|---|---|---|
| t | 1e-13 | 4e-6 | 2e-3 | 1.6e-2 | 0 |

times a factor for ops that sum many terms (`sdk/conformance/samples/`). The coarser of the operands' and the result's dtype decides. NaN
and infinities must appear where the formula gives them. The same call must give the same bits again, except that ops that add into places by
index (`scatter_add`, `index_add`, backward ops) may add in any order.
"""


def make_docs(ops):
    lines, section = [ABOUT], None
    for op in ops:
        if op.section != section:
            section = op.section
            lines += ['', f'## {section}', '', '| op | what it gives | dtypes | shapes | gradient |', '|---|---|---|---|---|']
        gradient = '*through*' if 'through' in op.facts else 'yes' if 'gradient' in op.facts else '–'
        cells = [f'`{op.text}`', *(op.text_of(fact).replace('|', '\\|') for fact in ('gives', 'dtypes', 'shapes')), gradient]
        lines.append(f'| {" | ".join(cells)} |')
    lines += ['', '## Autocast', '', 'The precision in which `amp::Autocast` and `torch.autocast` compute; other ops compute in what they are given.', '']
    for precision, (_, what) in PRECISIONS.items():
        lines.append(f'- {what}: {", ".join(f"`{op.name}`" for op in ops if op.facts.get("autocast") == precision)}')
    return '\n'.join(lines) + '\n'


def write_if_changed(path, text):
    """Leaves an unchanged file alone, so that nothing is rebuilt."""
    path = pathlib.Path(path)
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


KINDS = {'hpp': (make_hpp, 'the C++ functions'), 'methods': (make_methods, 'the declarations of Tensor\'s methods'),
         'autocast': (make_autocast, 'the C++ table of precisions'),
         'schemas': (make_schemas, 'the C header of schemas and positions'),
         'elementwise': (make_elementwise, 'the C++ list of ops that go element by element'),
         'declarations': (make_declarations, 'what the files of ops/ declare'), 'table': (make_table, 'the table of records'),
         'docs': (make_docs, 'the Markdown list of ops')}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('ops', nargs='+', help='the folder ops, or its files in order')
    for kind, (_, what) in KINDS.items():
        parser.add_argument(f'--{kind}', metavar='FILE', help=f'writes {what}')
    options = parser.parse_args()
    try:
        ops = parse_ops(options.ops)
        for kind, (make, _) in KINDS.items():
            if path := getattr(options, kind):
                write_if_changed(path, make(ops))
    except (TableError, OSError) as error:
        sys.exit(f'error: {error}')


if __name__ == '__main__':
    main()
