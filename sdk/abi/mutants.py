"""Changes the headers in every way that is known to hurt, one declaration at a time, and asks the lock about each.

Mutants that cannot touch each other share one parse, so that a few thousand take seconds. Each is text: the headers are
edited as a careless author would edit them, and clang reads the result.
"""

import collections
import pathlib
import re
import time
from dataclasses import dataclass

import lock
import model
from clang.cindex import CursorKind

# Another type in place of one: wider, narrower, other signedness, other meaning of the same size.
TYPES = {
    "uint32_t": {"widen": "uint64_t", "narrow": "uint16_t", "sign": "int32_t", "kind": "float"},
    "int32_t": {"widen": "int64_t", "narrow": "int16_t", "sign": "uint32_t"},
    "uint64_t": {"narrow": "uint32_t", "sign": "int64_t", "kind": "double"},
    "int64_t": {"narrow": "int32_t", "sign": "uint64_t", "kind": "double"},
    "double": {"narrow": "float", "kind": "int64_t"},
    "tn_dtype": {"narrow": "uint8_t", "sign": "int32_t"},
    "tn_str": {"kind": "const char*"},
    "unsigned char": {"sign": "signed char", "widen": "uint16_t"},
    "tn_value": {"kind": "tn_view"},
    "tn_status": {"kind": "struct tn_tensor"},
    "tn_write_fn": {"kind": "void*"},
    "tn_grad_hook_fn": {"kind": "void*"},
    "void": {"kind": "char"},
}


@dataclass(frozen=True)
class Mutant:
    operator: str
    entry: str  # the declaration it is in
    edits: tuple  # (file, start, end, text)
    where: str
    breaks: bool = True  # False: an addition, or a rename; the lock must notice, and --update may take it
    same: bool = False  # equivalent: the lock must not notice
    part: str = ""  # the slot, where nothing beside it moves
    more: tuple = ()  # further declarations that change with it


class Source:
    def __init__(self, texts):
        self.texts = texts
        self.raw = {path: text.encode() for path, text in texts.items()}  # clang counts bytes

    def span(self, cursor):
        return cursor.location.file.name, cursor.extent.start.offset, cursor.extent.end.offset

    def text(self, cursor):
        path, start, end = self.span(cursor)
        return self.raw[path][start:end].decode()

    def apply(self, edits):
        changed = dict(self.raw)
        for path, start, end, text in sorted(edits, key=lambda e: (e[0], -e[1], -e[2])):
            changed[path] = changed[path][:start] + text.encode() + changed[path][end:]
        return {path: text.decode() for path, text in changed.items()}


def retyped(text):
    """(operator, text) for each other type that a declarator could have."""
    for name, others in TYPES.items():
        found = re.search(rf"\b{name}\b", text)
        if found and re.match(rf"(const )?{name}\b", text):
            for operator, other in others.items():
                yield operator, text[:found.start()] + other + text[found.end():]
            break
    if text.startswith("const "):
        yield "const", text[6:]
    elif re.match(r"\w+ ?\*", text):
        yield "const", "const " + text
    if re.search(r"\*\s*\w+$", text):
        yield "indirection", re.sub(r"\*(\s*\w+)$", r"**\1", text)
        yield "pointer to integer", re.sub(r"^.*\*\s*(\w+)$", r"uint64_t \1", text)
    if found := re.search(r"\[(\w+)\]$", text):
        yield "array bound", text[:found.start()] + "[7]"
        yield "array bound", text[:found.start()] + f"[{found[1]} + 1]"


class Maker:
    def __init__(self, texts):
        self.source = Source(texts)
        self.unit = model.parse(texts)
        self.found = []

    def add(self, operator, entry, edits, where, breaks=True, same=False, more=()):
        edits = tuple(edits) if isinstance(edits, list) else (edits,)
        slot = re.match(r"parameter|return type|thread tag|variadic", operator)
        part = where.partition("(")[0].partition(".")[2] if slot else ""
        self.found.append(Mutant(operator, entry, edits, where, breaks, same, part, more))

    # -- Parameters of slots, callbacks and functions
    def parameters(self, entry, cursor, where):
        parameters = model.parameters(cursor)
        for i, each in enumerate(parameters):
            path, start, end = self.source.span(each)
            text, at = self.source.text(each), f"{where}({each.spelling})"
            for operator, other in retyped(text):
                self.add(f"parameter {operator}", entry, (path, start, end, other), at)
            if i + 1 < len(parameters):
                following = self.source.span(parameters[i + 1])
                self.add("parameters exchanged", entry, [(path, start, end, self.source.text(parameters[i + 1])), (*following, text)], at)
                self.add("parameter removed", entry, (path, start, following[1], ""), at)
            elif i > 0:
                self.add("parameter removed", entry, (path, self.source.span(parameters[i - 1])[2], end, ""), at)
            else:
                self.add("parameter removed", entry, (path, start, end, "void"), at)
            self.add("parameter inserted", entry, (path, start, start, "uint32_t inserted, "), at)
            if re.search(rf"\b{each.spelling}$", text):
                self.add("parameter renamed", entry, (path, end - len(each.spelling), end, "renamed"), at, breaks=False)
        if parameters:
            path, _, end = self.source.span(parameters[-1])
            self.add("parameter appended", entry, (path, end, end, ", uint32_t appended"), where)
            self.add("variadic", entry, (path, end, end, ", ..."), where)

    def result(self, entry, path, start, text, where):
        """Other return types; `text` starts with the one there is."""
        for old, new in (("tn_status*", "void"), ("tn_status*", "uint32_t"), ("void ", "uint32_t "), ("uint32_t ", "uint64_t "),
                         ("uint32_t ", "int32_t "), ("uint64_t ", "uint32_t "), ("int64_t ", "uint64_t "), ("tn_str ", "const char* "),
                         ("const ", ""), ("tn_dtype ", "uint8_t "), ("tn_tensor*", "const tn_tensor*"), ("tn_device*", "tn_tensor*"),
                         ("tn_generator*", "void*"), ("void*", "uint64_t")):
            if text.startswith(old):
                self.add("return type", entry, (path, start, start + len(old), new), where)

    def tag(self, entry, path, start, end, where):
        """The thread tag within a stretch of text."""
        tags = [*re.finditer(rb"\[(thread-safe|stream-ordered|init)\]", self.source.raw[path][start:end])]
        if tags:
            found = tags[-1]
            other = "[init]" if found[1] != b"init" else "[thread-safe]"
            self.add("thread tag", entry, (path, start + found.start(), start + found.end(), other), where)
            self.add("thread tag removed", entry, (path, start + found.start(), start + found.end(), ""), where)

    # -- Records
    def record(self, entry, cursor, where=""):
        fields = [c for c in cursor.get_children() if c.kind == CursorKind.FIELD_DECL]
        frozen = fields[0].spelling != "struct_size"
        is_union = cursor.kind == CursorKind.UNION_DECL
        name = where or entry
        for i, each in enumerate(fields):
            path, start, end = self.source.span(each)
            text, at = self.source.text(each), f"{name}.{each.spelling}"
            declared = each.type.get_declaration()
            if declared.kind in model.RECORDS and "(" in each.type.spelling:
                self.record(entry, declared, at)
            elif model.parameters(each):
                self.parameters(entry, each, at)
                self.result(entry, path, start, text, at)
                before = self.source.span(fields[i - 1])[2]
                self.tag(entry, path, before, start, at)
                line = self.source.raw[path].index(b"\n", end)
                self.tag(entry, path, end, line, at)
            else:
                for operator, other in retyped(text):
                    self.add(f"field {operator}", entry, (path, start, end, other), at)
                if text.startswith("uint32_t") and not is_union:
                    self.add("bit-field", entry, (path, end, end, " : 16"), at)
            if len(fields) > 1:
                self.add("field removed", entry, (path, start, end + 1, ""), at)
            if re.search(rf"\b{each.spelling}\b", text):
                renamed = re.sub(rf"\b{each.spelling}\b", "renamed", text, count=1)
                self.add("field renamed", entry, (path, start, end, renamed), at)
            if i + 1 < len(fields) and not is_union:
                following = self.source.span(fields[i + 1])
                self.add("fields exchanged", entry, [(path, start, end, self.source.text(fields[i + 1])), (*following, text)], at)
            if not is_union:
                self.add("field inserted", entry, (path, start, start, "uint32_t inserted; "), at)
                self.add("field inserted", entry, (path, start, start, "void* inserted; "), at)
        path, _, end = self.source.span(fields[-1])
        self.add("field appended", entry, (path, end + 1, end + 1, " void* appended;"), name, breaks=frozen and not is_union)
        if not where:
            self.shape(entry, cursor)

    def shape(self, entry, cursor):
        """Packing and alignment of a whole struct."""
        path, start, end = self.source.span(cursor)
        head = self.source.raw[path][start:end].decode()
        word = head.split(" ", 1)[0]
        for attribute in ("packed", "packed, aligned(4)", "aligned(16)", "aligned(64)"):
            self.add("packing", entry, (path, start, start + len(word), f"{word} __attribute__(({attribute}))"), entry)
        line = self.source.raw[path].rindex(b"\n", 0, start) + 1
        done = self.source.raw[path].index(b";", end) + 1
        for pack in (1, 2, 4):
            self.add("packing", entry, [(path, line, line, f"#pragma pack(push, {pack})\n"), (path, done, done, "\n#pragma pack(pop)\n")],
                     entry)
        self.add("pack(8)", entry, [(path, line, line, "#pragma pack(push, 8)\n"), (path, done, done, "\n#pragma pack(pop)\n")],
                 entry, same=True)
        brace = self.source.raw[path].index(b"{", start) + 1
        self.add("comment", entry, (path, brace, brace, " /* a comment that says nothing new */"), entry, same=True)
        self.add("white space", entry, (path, brace, brace, "\n\n"), entry, same=True)

    # -- Functions, callbacks, typedefs, constants
    def function(self, cursor):
        entry = cursor.spelling
        path, start, end = self.source.span(cursor)
        text = self.source.text(cursor)
        head = re.match(r"(TN_API|TN_EXPORT)\s+", text)
        if not head:  # the attribute lies before the extent
            lead = self.source.raw[path][:start].decode()
            head = re.search(r"(TN_API|TN_EXPORT)\s+$", lead)
            first = start - (head.end() - head.start())
        else:
            first, start, text = start, start + head.end(), text[head.end():]
        self.add("function removed", entry, (path, first, end + 1, ""), entry)
        self.add("function hidden", entry, (path, first, start, ""), entry)
        name = re.search(rf"\b{entry}\b", text)
        self.add("function renamed", entry, (path, start + name.start(), start + name.end(), entry + "_2"), entry)
        self.add("function added", entry + "_2", (path, end + 1, end + 1, f" TN_API void {entry}_2(void); /* [thread-safe] */"), entry,
                 breaks=False)
        self.result(entry, path, start, text, entry)
        self.parameters(entry, cursor, entry)
        comment = self.source.raw[path].rindex(b"/*", 0, first)
        if b";" not in self.source.raw[path][self.source.raw[path].index(b"*/", comment):first]:
            self.tag(entry, path, comment, first, entry)
        self.add("comment", entry, (path, end, end, " /* nothing new */"), entry, same=True)

    def typedef(self, cursor):
        entry = cursor.spelling
        path, start, end = self.source.span(cursor)
        text = self.source.text(cursor)
        if model.function_type(cursor.underlying_typedef_type) is not None:
            self.parameters(entry, cursor, entry)
            self.result(entry, path, start + len("typedef "), text[len("typedef "):], entry)
        elif cursor.underlying_typedef_type.get_declaration().spelling != entry:
            for other in ("uint64_t", "uint16_t", "uint8_t", "int32_t", "float"):
                self.add("typedef", entry, (path, start, end, f"typedef {other} {entry}"), entry)

    def constants(self):
        line = re.compile(rb"^#define (TN_\w+)[ \\\n]+(.*?)(?=[ \t]*(/\*|$))", re.M)
        for path, text in self.source.raw.items():
            matches = [m for m in line.finditer(text) if m[1].decode() not in model.VERSION]
            numbers = [m for m in matches if re.fullmatch(rb"\d+u?", m[2])]
            for i, found in enumerate(numbers):
                name, value = found[1].decode(), found[2].decode()
                start, end = found.span(2)
                number = int(value.rstrip("u"))
                grows = bool(lock.GROWING.fullmatch(name))
                self.add("constant changed", name, (path, start, end, f"{number + 1}{value.lstrip('0123456789')}"), name, breaks=not grows)
                self.add("constant changed", name, (path, start, end, f"{number + 16}u"), name, breaks=not (grows and value.endswith("u")))
                self.add("constant's type", name, (path, start, end, f"{number}" if value.endswith("u") else f"{number}u"), name)
                self.add("constant's type", name, (path, start, end, f"{number}ull"), name)
                if name != "TN_MAX_DIMS":  # which a struct needs
                    self.add("constant removed", name, (path, *found.span(), ""), name)
                    self.add("constant renamed", name, (path, *found.span(1), name + "_2"), name)
                self.add("constant in hexadecimal", name, (path, start, end, hex(number) + value.lstrip("0123456789")), name, same=True)
                if i + 1 < len(numbers) and numbers[i + 1][2] != found[2]:
                    following = numbers[i + 1]
                    self.add("constants exchanged", name, [(path, start, end, following[2].decode()), (path, *following.span(2), value)], name,
                             more=(following[1].decode(),))
            for found in matches:
                if found[1].startswith(b"TN_MASK_"):
                    name = found[1].decode()
                    self.add("mask shrunk", name, (path, *found.span(2), "((uint64_t)0)"), name)

    def linkage(self):
        """Without extern "C" every function of a header gets another name in C++."""
        functions = [c for c in model.cursors(self.unit, self.source.texts) if c.kind == CursorKind.FUNCTION_DECL]
        for path, text in self.source.raw.items():
            here = tuple(c.spelling for c in functions if c.location.file.name == path)
            marks = [m.span() for m in re.finditer(rb"^TN_EXTERN_C_(BEGIN|END)$", text, re.M)]
            if here and marks:
                self.add("C++ linkage", here[0], [(path, *span, "") for span in marks], pathlib.Path(path).name, more=here[1:])

    def all(self):
        seen = set()
        for cursor in model.cursors(self.unit, self.source.texts):
            key = (cursor.kind, cursor.spelling)
            if cursor.kind in model.RECORDS and cursor.is_definition() and key not in seen:
                self.record(cursor.spelling, cursor)
            elif cursor.kind == CursorKind.FUNCTION_DECL and key not in seen:
                self.function(cursor)
            elif cursor.kind == CursorKind.TYPEDEF_DECL and key not in seen:
                self.typedef(cursor)
            seen.add(key)
        self.constants()
        self.linkage()
        return self.found


# ---- Running --------------------------------------------------------------------------------------------------------------------

def dependents(abi, texts):
    """name -> the declarations that change with it: that hold it by value, or name it in a bound or a mask."""
    uses = collections.defaultdict(set)
    bodies = {name: body for name, (_, body) in model.macros(texts).items()}
    for entry in abi.entries.values():
        for each in entry.fields:
            uses[re.sub(r"\[.*", "", each.type)].add(entry.name)
            if "[" in each.type:
                uses["TN_MAX_DIMS"].add(entry.name)
        for word in re.findall(r"TN_\w+", bodies.get(entry.name, "")):
            uses[word].add(entry.name)

    def closure(name):
        found, waiting = set(), [name]
        while waiting:
            fresh = uses.get(waiting.pop(), set()) - found
            found |= fresh
            waiting += fresh
        return found
    return {name: closure(name) for name in abi.entries}


def judge(mutant, changes):
    """"caught", "missed", "misjudged" (an addition called a break, or the reverse), or "alarm" on an equivalent."""
    mine = [c for c in changes if c.name == mutant.entry and mutant.part in ("", c.part)]
    if mutant.same:
        return "alarm" if mine else "equivalent"
    if not mine:
        return "missed"
    return "caught" if any(c.breaks for c in mine) == mutant.breaks else "misjudged"


def batches(found, abi, texts):
    """Lists of (mutant, declarations it may change); within a list these are disjoint."""
    with_it = dependents(abi, texts)
    code = "".join(model.COMMENT.sub("", text) for text in texts.values())
    asserted = set(re.findall(r"TN_STATIC_ASSERT\(sizeof\((\w+)\)", code))
    filled = []
    for mutant in found:
        # A slot's signature touches nothing beside it; whatever else happens to a record touches all of it.
        kind = "same" if mutant.same else "alone" if mutant.entry in asserted else "slot" if mutant.part else "record"
        names = {f"{mutant.entry}.{mutant.part}"} if kind == "slot" else {mutant.entry, *mutant.more}
        for name in list(names):
            names |= with_it.get(name, set())
        for batch in filled:
            if batch[0] == kind != "alone" and not batch[1] & names:
                break
        else:
            batch = (kind, set(), [])
            filled.append(batch)
        batch[1].update(names)
        batch[2].append((mutant, {n.partition(".")[0] for n in names}))
    return [batch[2] for batch in filled]


def outcome_of(batch, source, base):
    """(mutant, verdict) of each; a batch that does not compile is halved until the ones at fault stand alone."""
    try:
        changes = lock.compare(base, model.read(source.apply([e for m, _ in batch for e in m.edits])))
    except model.HeaderError:
        if len(batch) == 1:
            return [(batch[0][0], "does not compile")]
        middle = len(batch) // 2
        return outcome_of(batch[:middle], source, base) + outcome_of(batch[middle:], source, base)
    expected = {n for m, names in batch for n in (*names, m.entry + "_2")}
    if len(batch) > 1 and {c.name for c in changes} - expected:  # one reached further than it should: ask each alone
        return [pair for each in batch for pair in outcome_of([each], source, base)]
    return [(mutant, judge(mutant, changes)) for mutant, _ in batch]


def run(texts=None):
    """(figures, lines to print)."""
    began = time.process_time()
    texts = model.read_texts() if texts is None else texts
    base = model.read(texts)
    maker = Maker(texts)
    found = maker.all()
    results = [pair for batch in batches(found, base, texts) for pair in outcome_of(batch, maker.source, base)]
    count = collections.Counter(verdict for _, verdict in results)
    table = collections.defaultdict(collections.Counter)
    for mutant, verdict in results:
        table[mutant.operator][verdict] += 1
    missed = [m for m, v in results if v in ("missed", "misjudged")]
    alarms = [m for m, v in results if v == "alarm"]
    figures = {
        "mutants": count["caught"] + len(missed), "caught": count["caught"], "missed": len(missed),
        "do_not_compile": count["does not compile"], "equivalent": count["equivalent"] + len(alarms), "false_alarms": len(alarms),
        "operators": {name: dict(row) for name, row in sorted(table.items())}, "cpu_seconds": round(time.process_time() - began, 1),
    }
    lines = [f"{name:28} " + ", ".join(f"{n} {v}" for v, n in row.items()) for name, row in sorted(table.items())]
    lines += [f"missed: {m.operator} at {m.where} ({m.edits})" for m in missed]
    lines += [f"false alarm: {m.operator} at {m.where}" for m in alarms]
    lines.append(f"{figures['caught']} of {figures['mutants']} mutants caught; {figures['do_not_compile']} more do not compile; "
                 f"{figures['equivalent']} equivalents (comments, white space, pack(8), hexadecimal), "
                 f"{figures['false_alarms']} false alarms; {figures['cpu_seconds']} s of CPU")
    return figures, lines
