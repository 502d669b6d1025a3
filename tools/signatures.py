"""Reads libs/signatures.toml: what nn and optim offer in C++ and Python."""
import dataclasses
import math
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
SECTIONS = ('nn', 'torch', 'init', 'optim', 'clip', 'scheduler')
TYPES = ('int', 'float', 'bool', 'str', 'Tensor', 'generator', 'function', 'Optimizer', 'LRScheduler')
ARGUMENT = re.compile(r'(?P<type>(?P<word>\w+)(?:\[\d?\])?\??) (?P<name>\w+)(?:=(?P<default>.+))?')
KEYS = {'schema', 'also', 'make', 'of', 'ranges', 'state', 'with', 'takes', 'refuses', 'function', 'op', 'op_names', 'without'}
# The test supplies values by type; all others come from the table.
SUPPLIED = ('Tensor', 'Tensor[]', 'Optimizer')
# Each number is tried with each of these, alone: values outside its range must be refused, all others accepted.
PROBES = {'int': [-1, 0], 'int[]': [[-1], [0]], 'float': [-0.5, 0.0, 1.0, 1.5, math.nan], 'float[]': [[-0.5], [0.0], [1.5], [math.nan]]}
RANGES = {'at least 0': lambda x: x >= 0, 'at least 1': lambda x: x >= 1, 'at least 2': lambda x: x >= 2, 'positive': lambda x: x > 0,
          '0 to 1': lambda x: 0 <= x <= 1, 'between 0 and 1': lambda x: 0 < x < 1, 'above 0 and at most 1': lambda x: 0 < x <= 1}


class TableError(Exception):
    pass


@dataclasses.dataclass
class Argument:
    type: str
    name: str
    required: bool
    default: object = None

    def __str__(self):
        return f'{self.type} {self.name}' + ('' if self.required else f'={text_of(self.default)}')


@dataclasses.dataclass
class Entry:
    section: str
    name: str
    arguments: list
    facts: dict

    @property
    def schema(self):
        return f"({', '.join(map(str, self.arguments))})"

    @property
    def supplied(self):
        return [a for a in self.arguments if a.required and a.type in SUPPLIED]

    @property
    def free(self):
        """Arguments that the test does not supply."""
        return [a for a in self.arguments if a not in self.supplied]

    def get(self, fact, otherwise=()):
        return self.facts.get(fact, otherwise)

    def error(self, message):
        """The full text of an error; an op's is already complete."""
        return message if message.startswith('[') else f'[{self.name}] {message}'

    def given(self, changed):
        """Values by name: those of `make`, and those that a case changes."""
        return {**self.get('make', {}), **changed}

    def probes(self, taken):
        """(changed arguments, message): those that are accepted, or those that are refused."""
        named = [repr(changed) for changed, _ in self.get('refuses')]
        for a in self.free:
            words = self.get('ranges', {}).get(a.name)
            for value in PROBES.get(a.type.rstrip('?'), []):
                number = value[0] if isinstance(value, list) else value
                if repr({a.name: value}) not in named and (words is None or RANGES[words](number)) == taken:
                    yield {a.name: value}, f'{a.name} is {number}, must be {words}'

    def cases(self, fact):
        """(values by name, what the table says about them) for a fact: state, takes or refuses."""
        if fact == 'refuses':
            return [(self.given(changed), message) for changed, message in [*self.get('refuses'), *self.probes(False)]]
        bare = [] if any(changed == {} for changed, _ in self.get('refuses')) else [({}, self.get('state'))]
        has_state = self.section not in ('init', 'clip')
        if fact == 'state':
            return [(self.given(changed), state) for changed, state in [*bare, *self.get('with')]] if has_state else []
        return [(self.given(changed), None) for changed in [*self.get('takes'), *(changed for changed, _ in self.probes(True))]] + [
            (self.given({}), None) for _ in bare if not has_state]


def text_of(value):
    if value is None or isinstance(value, bool):
        return {None: 'none', True: 'true', False: 'false'}[value]
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(map(text_of, value))}]" if isinstance(value, list) else repr(value)


def split_top(text, opening='([{<', closing=')]}>'):
    """Splits at commas outside of brackets and quotes."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        quoted ^= c == '"'
        if quoted:
            continue
        depth += (c in opening) - (c in closing)
        if c == ',' and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return parts + ([last] if last else [])


def value_of(kind, text):
    """A default as written in the table or a header: 1e-5, 1/3, "mean", [0.9, 0.999], {} and none."""
    word = kind.rstrip('?').split('[')[0]
    if text in ('none', '{}', 'Tensor()'):
        return None
    if text in ('true', 'false'):
        return text == 'true'
    if text.startswith('"'):
        return text[1:-1]
    if text[0] in '[{':
        return [value_of(word, part) for part in split_top(text[1:-1])]
    over, _, under = text.partition('/')
    number = float(over) / float(under or 1)
    return int(number) if word == 'int' else number


def parse_argument(text):
    found = ARGUMENT.fullmatch(text)
    if not found or found['word'] not in TYPES:
        raise TableError(f'"{text}" is no argument')
    default = found['default']
    return Argument(found['type'], found['name'], default is None, None if default is None else value_of(found['type'], default))


def parse_entry(section, name, facts):
    unknown = set(facts) - KEYS
    if unknown or not re.fullmatch(r'\(.*\)', facts.get('schema', '')):
        raise TableError(f'{section}.{name}: ' + (f'unknown: {", ".join(sorted(unknown))}' if unknown else 'a schema is "(…)"'))
    entry = Entry(section, name, [parse_argument(part) for part in split_top(facts['schema'][1:-1])], facts)
    known = {a.name for a in entry.arguments}
    cases = [entry.get('make', {}), *entry.get('takes'), *(c for c, _ in entry.get('with')), *(c for c, _ in entry.get('refuses'))]
    for case in cases:
        if set(case) - known:
            raise TableError(f'{section}.{name}: no argument is called {", ".join(sorted(set(case) - known))}')
    ranges = entry.get('ranges', {})
    if set(ranges) - known or set(ranges.values()) - set(RANGES):
        raise TableError(f'{section}.{name}: ranges are of arguments: {", ".join(RANGES)}')
    missing = [a.name for a in entry.free if a.required and a.name not in entry.get('make', {})]
    if missing:
        raise TableError(f'{section}.{name}: make lacks {", ".join(missing)}')
    return entry


def read(path=ROOT / 'libs/signatures.toml'):
    """(entries, names that are not entries: a dict of lists)."""
    table = tomllib.loads(pathlib.Path(path).read_text())
    names = table.pop('names')
    if set(table) - set(SECTIONS):
        raise TableError(f'unknown sections: {", ".join(sorted(set(table) - set(SECTIONS)))}')
    return [parse_entry(section, name, facts) for section in SECTIONS for name, facts in table[section].items()], names
