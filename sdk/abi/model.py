"""The C ABI as clang reads it from the public headers: constants, types, functions, and the layout of every record."""

import pathlib
import re
from dataclasses import dataclass, field

from clang import cindex
from clang.cindex import CursorKind, TypeKind

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "core/include"
# One target, so that the lock is the same on every machine that checks it.
TARGET = "x86_64-linux-gnu"
TAG = re.compile(r"\[(thread-safe|stream-ordered|init)\]")
VERSION = ("TN_ABI_MAJOR", "TN_ABI_MINOR", "TN_VERSION_STRING")
RECORDS = (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL)


class HeaderError(Exception):
    """The headers do not compile."""


@dataclass(frozen=True)
class Field:
    offset: int  # bytes; bits where it is a bit-field
    size: int
    name: str
    type: str
    tag: str = ""


@dataclass
class Entry:
    kind: str  # constant, macro, typedef, callback, opaque, struct, union, function
    name: str
    text: str = ""  # value and type, signature, or what the macro says
    tag: str = ""
    size: int = 0
    align: int = 0
    fields: list = field(default_factory=list)

    @property
    def extensible(self):
        return bool(self.fields) and self.fields[0] == Field(0, 4, "struct_size", "uint32_t")


@dataclass
class Abi:
    major: int
    minor: int
    entries: dict  # by name


def headers(include=INCLUDE):
    """The public C headers; drafts (ext/draft) promise nothing."""
    return sorted((pathlib.Path(include) / "tenon").glob("*.h"))


def read_texts(include=INCLUDE):
    return {str(path): path.read_text() for path in headers(include)}


# ---- Macros ---------------------------------------------------------------------------------------------------------------------

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(TN_\w+)(\([^)]*\))?[ \t]*((?:\\\n|[^\n])*)$", re.M)
NUMERIC = re.compile(r"[\s0-9a-fA-FxXuUlL()|&<>~+*/-]*")


def macros(texts):
    """name -> (parameters, body); several definitions of one name are joined."""
    found = {}
    for text in texts.values():
        for name, parameters, body in DEFINE.findall(COMMENT.sub(" ", text)):
            body = " ".join(body.replace("\\\n", " ").split())
            if name in found:
                body = f"{found[name][1]} | {body}"
            found[name] = (parameters, body)
    return found


def is_numeric(name, known, parameters=()):
    arguments, body = known[name]
    inner = [p.strip() for p in arguments.strip("()").split(",") if p.strip()]
    for word in re.findall(r"\b[A-Za-z_]\w*", body):
        if word in known:
            if not is_numeric(word, known):
                return False
        elif word not in ("uint64_t", *inner):
            return False
    return bool(body) and bool(NUMERIC.fullmatch(re.sub(r"\b[A-Za-z_]\w*", "", body)))


# ---- Declarations ---------------------------------------------------------------------------------------------------------------

def library():
    """libclang of the installed LLVM 14."""
    if not cindex.Config.loaded:
        for name in ("libclang-14.so.1", "libclang.so.14", "libclang.so.1"):
            for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/llvm-14/lib", "/usr/lib64"):
                if (pathlib.Path(folder) / name).exists():
                    cindex.Config.set_library_file(f"{folder}/{name}")
                    return cindex.Index.create()
    return cindex.Index.create()


def parse(texts, language="c++", extra=""):
    """The translation unit that includes every header; `texts` stand in for the files."""
    include = pathlib.Path(next(iter(texts))).parents[1]
    main = "".join(f'#include "tenon/{pathlib.Path(path).name}"\n' for path in texts) + extra
    standard = {"c++": "-std=c++20", "c": "-std=c11"}[language]
    unit = library().parse(
        "abi_probe", ["-x", language, standard, "-target", TARGET, f"-I{include}", "-fparse-all-comments", "-w"],
        unsaved_files=[("abi_probe", main), *texts.items()])
    errors = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    if errors:
        raise HeaderError(errors[0])
    return unit


def cursors(unit, texts):
    """Top-level declarations of the headers and of the probe itself. A function with a body is compiled into its user: no ABI."""
    def inside(cursor):
        for child in cursor.get_children():
            if child.kind in (CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL):
                yield from inside(child)
                continue
            own = child.location.file and (child.location.file.name in texts or child.location.file.name == "abi_probe")
            if own and (child.kind != CursorKind.FUNCTION_DECL or not child.is_definition()):
                yield child
    return inside(unit.cursor)


def parameters(cursor):
    return [c for c in cursor.get_children() if c.kind == CursorKind.PARM_DECL]


def signature(result, cursor, variadic=False):
    arguments = [f"{p.type.spelling} {p.spelling}".strip() for p in parameters(cursor)]
    return f"{result.spelling} ({', '.join(arguments + ['...'] * variadic) or 'void'})"


def function_type(type_):
    """The function behind a pointer type, or None."""
    pointee = type_.get_canonical().get_pointee()
    if pointee.kind != TypeKind.FUNCTIONPROTO:
        return None
    return type_.get_pointee() if type_.kind == TypeKind.POINTER else pointee  # with the names that were written


def tag_of(cursor):
    found = TAG.findall(cursor.raw_comment or "")
    return found[-1] if found else ""


def fields(record, base=0, prefix=""):
    for child in record.get_children():
        if child.kind != CursorKind.FIELD_DECL:
            continue
        bits = record.type.get_offset(child.spelling)
        name, size = prefix + child.spelling, child.type.get_size()
        declared = child.type.get_declaration()
        slot = function_type(child.type)
        if child.is_bitfield():
            yield Field(base * 8 + bits, size, name, f"{child.type.spelling} : {child.get_bitfield_width()} bits")
        elif declared.kind in RECORDS and (declared.is_anonymous() or "(" in child.type.spelling):
            yield Field(base + bits // 8, size, name, declared.kind.name.split("_")[0].lower())
            yield from fields(declared, base + bits // 8, name + ".")
        elif slot is not None and parameters(child):
            yield Field(base + bits // 8, size, name,
                        signature(slot.get_result(), child, slot.is_function_variadic()), tag_of(child))
        else:
            yield Field(base + bits // 8, size, name, child.type.spelling)


def entry_of(cursor):
    name = cursor.spelling
    if cursor.kind in RECORDS:
        if not cursor.is_definition():
            return Entry("opaque", name)
        return Entry("struct" if cursor.kind == CursorKind.STRUCT_DECL else "union", name, size=cursor.type.get_size(),
                     align=cursor.type.get_align(), fields=list(fields(cursor)))
    if cursor.kind == CursorKind.TYPEDEF_DECL:
        target = cursor.underlying_typedef_type
        if target.get_declaration().spelling == name:
            return None  # typedef struct X X
        function = function_type(target)
        if function is not None:
            return Entry("callback", name, signature(function.get_result(), cursor, function.is_function_variadic()), tag_of(cursor))
        return Entry("typedef", name, target.spelling)
    if cursor.kind == CursorKind.FUNCTION_DECL:
        text = signature(cursor.result_type, cursor, cursor.type.is_function_variadic())
        if not any(c.kind == CursorKind.VISIBILITY_ATTR for c in cursor.get_children()):
            text += " hidden"
        if cursor.mangled_name != name:
            text += " C++ linkage"
        return Entry("function", name, text, tag_of(cursor))
    return None


def read(texts=None):
    """The ABI of the headers as they are, or of `texts` in their place. Throws HeaderError."""
    texts = read_texts() if texts is None else texts
    known = macros(texts)
    numeric = [name for name in known if not known[name][0] and name not in VERSION and is_numeric(name, known)]
    extra = "".join(f"enum value_of_{n} : long long {{ value_{n} = (long long)({n}) }}; extern __typeof__({n}) type_{n};\n"
                    for n in [*numeric, *VERSION[:2]])
    unit = parse(texts, "c++", extra)
    entries, values, types = {}, {}, {}
    for cursor in cursors(unit, texts):
        if cursor.location.file.name == "abi_probe":
            if cursor.kind == CursorKind.ENUM_DECL:
                value = next(cursor.get_children())
                values[value.spelling[6:]] = value.enum_value
            elif cursor.kind == CursorKind.VAR_DECL:
                types[cursor.spelling[5:]] = cursor.type.get_canonical().spelling
            continue
        entry = entry_of(cursor)
        if entry is not None and (entry.name not in entries or entries[entry.name].kind == "opaque"):
            entries[entry.name] = entry
    for name, (arguments, body) in known.items():
        if name in VERSION:
            continue
        if name in values:
            entries[name] = Entry("constant", name, f"{values[name]} {types[name]}")
        else:
            kind = "constant" if arguments and is_numeric(name, known) else "macro"
            entries[name] = Entry(kind, name, f"{arguments} {body}".strip())
    return Abi(values["TN_ABI_MAJOR"], values["TN_ABI_MINOR"], entries)


def untagged(abi):
    """Functions, slots and callbacks whose comment has no thread tag."""
    for entry in abi.entries.values():
        if entry.kind in ("function", "callback") and not entry.tag:
            yield entry.name
        for each in entry.fields:
            if is_slot(each) and not each.tag:
                yield f"{entry.name}.{each.name}"


def is_slot(each):
    return each.type.endswith(")")
