#!/usr/bin/env python3
"""Writes the C++ test of libs/signatures.toml, which compares what the table and the headers say about each class and function.

usage: generate_signatures.py libs/signatures.toml OUT.inc OUT.d FOLDER...
"""
import dataclasses
import functools
import json
import pathlib
import re
import sys

import signatures
from signatures import Argument, TableError, split_top, value_of

# A C++ type in the table's spelling.
TYPES = {'int64_t': 'int', 'double': 'float', 'bool': 'bool', 'std::string': 'str', 'std::string_view': 'str', 'Tensor': 'Tensor',
         'Sizes': 'int[]', 'IntList': 'int[]', 'Factors': 'float[]', 'Betas': 'float[2]', 'Activation': 'str', 'Generator': 'generator',
         'Optimizer': 'Optimizer', 'std::function<double(int64_t)>': 'function',
         'DistanceFunction': 'function'}
# Parameters that would hide a member of their class have other names in C++.
NAMES = {'with_bias': 'bias', 'weights': 'weight'}
NAMESPACE = {'nn': 'nn::', 'torch': 'nn::', 'init': 'nn::init::', 'optim': 'optim::', 'clip': 'optim::', 'scheduler': 'optim::'}
# What the test supplies to the functions and constructors of a section.
BEFORE = {'nn': '', 'torch': '', 'init': 'Tensor tensor = ones({SHAPE}); ', 'optim': 'const auto params = trained(); ',
          'clip': 'const auto parameters = trained(); ', 'scheduler': 'optim::SGD optimizer(trained()); '}


@dataclasses.dataclass
class HeaderArgument(Argument):
    cpp: str = ''

    __str__ = Argument.__str__


@dataclasses.dataclass
class Declaration:
    namespace: str
    head: str
    body: str

    @property
    def is_template(self):
        return self.head.startswith('template')

    @property
    def type_name(self):
        """None if it is a function."""
        head = self.head[end_of(self.head, self.head.index('<'), '<', '>'):] if self.is_template else self.head
        found = re.match(r'\s*(?:class|struct|enum class|using(?= \w+ =)) (\w+)', head)
        return found and found[1]


def end_of(text, start, opening, closing):
    """The position after the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == opening) - (text[i] == closing)
        if depth == 0:
            return i + 1
    raise TableError(f'a {opening} that nothing closes: {text[start:start + 60]}')


def expanded(text):
    """The text without comments and preprocessor lines, and with macros of the file that make classes expanded."""
    text = re.sub(r'//[^\n]*', '', text).replace('\\\n', ' ')
    macros = {m[1]: (m[2].split(','), m[3]) for m in re.finditer(r'#define (\w+)\(([\w, ]+)\)([^\n]*)', text)}
    text = re.sub(r'^\s*#[^\n]*', '', text, flags=re.M)
    for macro, (parameters, body) in macros.items():
        def written_out(call, parameters=parameters, body=body):
            for parameter, value in zip(parameters, split_top(call[1])):
                body = re.sub(rf'(?<!#)\b{parameter.strip()}\b', value, body)
            return body.replace('##', '')
        text = re.sub(rf'\b{macro}\(([^)]*)\)', written_out, text)
    return text


def head_end(text, start):
    """The end of a declaration's head: its body's brace or its semicolon, ignoring those in default arguments."""
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == '(') - (text[i] == ')')
        if depth == 0 and text[i] in '{;':
            return i
    raise TableError(f'no end of: {text[start:start + 60]}')


def declarations(text):
    """The declarations at namespace level."""
    at, spaces, found = 0, [], []
    while at < len(text):
        if text[at].isspace() or text[at] == ';':
            at += 1
        elif text[at] == '}':
            spaces.pop()
            at += 1
        elif space := re.compile(r'namespace ([\w:]+) \{').match(text, at):
            spaces.append(space[1])
            at = space.end()
        else:
            stop = head_end(text, at)
            end = end_of(text, stop, '{', '}') if text[stop] == '{' else stop + 1
            found.append(Declaration('::'.join(spaces), ' '.join(text[at:stop].split()), text[stop + 1:end - 1]))
            at = end
    return found


def without_bodies(text):
    """A class's body without the bodies of its functions; braces of defaults stay."""
    out, at = '', 0
    while at < len(text):
        if text[at] == '{' and not re.search(r'[=(,]\s*$', out):
            at, out = end_of(text, at, '{', '}'), out + ';'
        elif text[at] == '{':
            end = end_of(text, at, '{', '}')
            out, at = out + text[at:end], end
        else:
            out, at = out + text[at], at + 1
    return out


def type_of(text):
    """The table's type of a C++ type."""
    text = re.sub(r'^const |[&]$', '', text.strip()).strip()
    if found := re.fullmatch(r'std::optional<(.+)>', text):
        return type_of(found[1]) + '?'
    if text == 'std::vector<std::reference_wrapper<LRScheduler>>':
        return 'LRScheduler[]'
    if found := re.fullmatch(r'std::vector<(.+)>', text):
        return type_of(found[1]) + '[]'
    if text not in TYPES:
        raise TableError(f'the table has no type for {text}')
    return TYPES[text]


def argument_of(text):
    found = re.fullmatch(r'(.+?[\s&])(\w+)(?: = (.+))?', ' '.join(text.split()))
    kind, default = type_of(found[1]), found[3]
    if default in ('{}', 'Tensor()') and not kind.endswith('?'):
        kind += '?'
    return HeaderArgument(kind, NAMES.get(found[2], found[2]), default is None, None if default is None else value_of(kind, default), found[1])


class Headers:
    def __init__(self, paths):
        self.all = [d for path in paths for d in declarations(expanded(pathlib.Path(path).read_text()))]
        self.types = {(d.namespace, d.type_name): d for d in self.all if d.type_name}

    def type_names(self, *namespaces):
        """Classes and other names of types, except options and templates whose cases have names, such as Conv."""
        cases = {found[1] for d in self.all if (found := re.match(r'using \w+ = (\w+)<', d.head))}
        return {name for (space, name), d in self.types.items() if space in namespaces
                and not name.endswith('Options') and not (d.is_template and name in cases)}

    def functions(self, namespace):
        """The arguments as text, by name."""
        return {found[1]: found[2] for d in self.all if d.namespace == namespace and not d.type_name
                if (found := re.search(r'(?<![\w:])(\w+)\((.*)\)', d.head))}

    def target(self, namespace, name):
        """The class that a name stands for."""
        declaration = self.types[namespace, name]
        if found := re.match(rf'using {name} = (\w+)', declaration.head):
            return self.target(namespace, found[1])
        return name, declaration

    def constructor(self, namespace, name):
        """Its arguments as text: those of the first public constructor that is not for lists in braces, copies or moves."""
        name, declaration = self.target(namespace, name)
        body = without_bodies(declaration.body)
        for found in re.finditer(rf'(?:^|[;:\s])(?:explicit )?{name}\(', body):
            start = found.end() - 1
            text = body[start + 1:end_of(body, start, '(', ')') - 1]
            if 'initializer_list' not in text and not re.match(rf'(const )?{name}\s*&', text):
                return text
        return ''

    def arguments(self, entry):
        """(arguments as in the header, how many of them are fields of which options)."""
        namespace = 'tenon::' + NAMESPACE[entry.section][:-2]
        if entry.section in ('init', 'clip'):
            text = self.functions(namespace)[entry.name]
        else:
            text = self.constructor(namespace, entry.name)
        parts = split_top(text)
        options = parts and re.match(r'(?:const )?(\w+Options)\b', parts[-1])
        if not options:
            return [argument_of(part) for part in parts], 0
        fields = self.fields(namespace, options[1])
        return [argument_of(part) for part in parts[:-1]] + fields, len(fields)

    def fields(self, namespace, options):
        body = without_bodies(self.target(namespace, options)[1].body)
        lines = [' '.join(line.split()) for line in body.split(';')]
        return [argument_of(line) for line in lines if line and not re.match(r'static|template|void', line)]


def text(value):
    return json.dumps(value, ensure_ascii=False)


def literal(kind, value, cpp=''):
    """A value of the table in C++, for a parameter of the type `cpp`."""
    word = kind.rstrip('?').split('[')[0]
    if isinstance(value, dict):
        (what, how), = value.items()
        return f"ones({literal('int[]', how)})" if what == 'ones' else f'[](int64_t) {{ return {how}; }}'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'std::string({text(value)})'
    if isinstance(value, list):
        # Braces alone could mean another class.
        of = 'nn::Sizes' if 'Sizes' in cpp else 'nn::Factors' if 'Factors' in cpp else ''
        return of + '{' + ', '.join(literal(word, each) for each in value) + '}'
    if kind == 'LRScheduler[]':
        return f'exponential(optimizer, {value})'
    if word == 'int':
        return f'int64_t{{{value}}}'
    return 'std::nan("")' if value != value else repr(float(value))


def call(entry, found, in_options, given):
    """A call of a constructor or function with the values of a case. Arguments between the given ones have their defaults."""
    positional, options = found[:len(found) - in_options], found[len(found) - in_options:]
    supplied = {a.name for a in entry.supplied}
    values = [a.name if a.name in supplied else literal(a.type, given[a.name], a.cpp) if a.name in given
              else None if a.default is None else literal(a.type, a.default) for a in positional]
    last = max((i for i, a in enumerate(positional) if a.required or a.name in given), default=-1)
    parts = [value or '{}' for value in values[:last + 1]]
    fields = [f'.{a.name} = {literal(a.type, given[a.name], a.cpp)}' for a in options if a.name in given]
    if fields:
        parts.append(f"{{{', '.join(fields)}}}")
    return f"{NAMESPACE[entry.section]}{entry.name}({', '.join(parts)})"


def before_of(entry):
    return BEFORE[entry.section].replace('SHAPE', literal('int[]', entry.get('of', [2, 2])))


def expect_state(entry, expression, state):
    if entry.section == 'optim':
        options = [f'group.0.{a.name} f64 ({"2" if a.type == "float[2]" else ""})' for a in entry.free]
        state = options + [f'state.0.{line}' for line in state]
        expression = f'after_a_step({expression})'
    keys = 'keys_of' if entry.section == 'scheduler' else 'state_of'
    return f'  expect_same({text(", ".join(sorted(state)))}, [] {{ {before_of(entry)}return {keys}({expression}); }});'


def test_of(entry, headers):
    try:
        found, in_options = headers.arguments(entry)
    except KeyError:
        return f'TEST(Signatures, {entry.section}_{entry.name}) {{ ADD_FAILURE() << "no header has it"; }}\n'
    except TableError as error:
        raise TableError(f'{entry.section}.{entry.name}: {error}') from None
    header = f"({', '.join(map(str, found))})"
    lines = [f'TEST(Signatures, {entry.section}_{entry.name.rstrip("_")}) {{',
             f'  EXPECT_EQ(std::string({text(header)}), {text(entry.schema)}) << "what the header says, and the table";']
    if header == entry.schema:  # otherwise a call may not compile
        before, made = before_of(entry), functools.partial(call, entry, found, in_options)
        lines += [expect_state(entry, made(given), state) for given, state in entry.cases('state')]
        lines += [f'  expect_taken([] {{ {before}{made(given)}; }});' for given, _ in entry.cases('takes')]
        lines += [f'  expect_refused({text(entry.error(message))}, [] {{ {before}{made(given)}; }});'
                  for given, message in entry.cases('refuses')]
        lines += [f'  static_assert(std::is_same_v<nn::{other}, nn::{entry.name}>);' for other in entry.get('also')]
    for argument in entry.arguments if entry.get('op') else ():
        name = entry.get('op_names', {}).get(argument.name, argument.name)
        lines.append(f'  expect_option({text(entry.get("op"))}, {text(str(dataclasses.replace(argument, name=name)))});')
    return '\n'.join(lines + ['}', ''])


def test_of_names(title, table, header):
    return (f'TEST(Signatures, NamesOf{title}) {{\n'
            f'  EXPECT_EQ(std::string({text(", ".join(sorted(header)))}), {text(", ".join(sorted(table)))})\n'
            '      << "what the headers have, and the table";\n}\n')


def names_tests(entries, names, headers):
    plain = {section: {name for e in entries if e.section == section for name in (e.name, *e.get('also'))}
             for section in signatures.SECTIONS}
    types = (plain['nn'] | plain['torch'] | plain['optim'] | plain['scheduler']
             | {*names['both'], *names['cpp'], *names['containers'], *names['torch']})
    yield test_of_names('Types', types, headers.type_names('tenon::nn', 'tenon::nn::init', 'tenon::optim'))
    yield test_of_names('Initialisers', plain['init'], headers.functions('tenon::nn::init'))
    yield test_of_names('FunctionsOfOptim', plain['clip'], headers.functions('tenon::optim'))


def main():
    table, out, depfile, *folders = sys.argv[1:]
    paths = sorted(path for folder in folders for path in pathlib.Path(folder).rglob('*.hpp'))
    try:
        entries, names = signatures.read(table)
        headers = Headers(paths)
        tests = [test_of(entry, headers) for entry in entries] + list(names_tests(entries, names, headers))
    except TableError as error:
        sys.exit(f'error: {table}: {error}')
    needed = sorted({*map(str, paths), *(str(path.parent) for path in paths)})
    pathlib.Path(depfile).write_text(f"{out}: {' '.join(needed)}\n")
    pathlib.Path(out).write_text('// Generated by tools/generate_signatures.py from libs/signatures.toml and the headers.\n'
                                 + '\n'.join(tests))


if __name__ == '__main__':
    main()
