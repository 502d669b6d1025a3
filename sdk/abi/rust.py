"""The ABI in Rust: sdk/rust/abi.rs, generated from the C headers, so that the two never differ."""

import re

import model
from clang.cindex import CursorKind, TypeKind

PATH = model.ROOT / "sdk/rust/abi.rs"
HEAD = """//! The C ABI of Tenon in Rust: types, tables and constants of tenon/plugin.h and what it includes.
//! Written by `./dev abi --update` from the C headers; not edited by hand. No crates, no std; Rust 1.56 and later.
#![allow(non_camel_case_types, non_upper_case_globals, dead_code)]

use core::ffi::c_void;

pub type c_char = u8; // UTF-8, not NUL-terminated
"""
# Zeros and the size: Type {{ field: value, ..Type::EMPTY }}.
EMPTY = """impl {name} {{
    pub const EMPTY: {name} = {{
        let mut made: {name} = unsafe {{ core::mem::transmute([0u64; {size} / 8]) }};
        made.struct_size = {size};
        made
    }};
"""
PRIMITIVES = {"uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64", "int32_t": "i32", "int64_t": "i64",
              "double": "f64", "float": "f32", "char": "c_char", "unsigned char": "u8", "void": "c_void"}
KEYWORDS = {"type", "in", "move", "ref", "as", "where", "loop", "match", "use", "mod", "fn", "impl"}
PLUGIN_HEADERS = ("base.h", "dtype.h", "value.h", "device.h", "backend.h", "op.h", "plugin.h")


def name_of(name):
    if name == "self":
        return "this"
    return f"r#{name}" if name in KEYWORDS else name


def rust_type(type_, cursor=None):
    if type_.kind == TypeKind.CONSTANTARRAY:
        return f"[{rust_type(type_.element_type)}; {type_.element_count}]"
    if type_.kind == TypeKind.POINTER and model.function_type(type_) is not None:
        return f"Option<{function(model.function_type(type_).get_result(), cursor)}>"
    if type_.kind == TypeKind.POINTER:
        inner = type_.get_pointee()
        return f"*{'const' if inner.is_const_qualified() else 'mut'} {rust_type(inner)}"
    name = re.sub(r"\b(const|struct) ", "", type_.spelling)
    return PRIMITIVES.get(name, name)


def function(result, cursor):
    arguments = ", ".join(f"{name_of(p.spelling)}: {rust_type(p.type, p)}" for p in model.parameters(cursor))
    back = "" if result.kind == TypeKind.VOID else f" -> {rust_type(result)}"
    return f'unsafe extern "C" fn({arguments}){back}'


def document(cursor, indent=""):
    """The C comment as a Rust one."""
    text = re.sub(r"^\s*/\*+\s?|\s*\*/\s*$", "", cursor.raw_comment or "")
    lines = [re.sub(r"([\[\]])", r"\\\1", line.strip()) for line in text.splitlines()]
    return "".join(f"{indent}/// {line}\n" for line in lines if line)


def record(cursor, name):
    """A struct or union, and before it the unions it holds."""
    before, lines = "", []
    for each in (c for c in cursor.get_children() if c.kind == CursorKind.FIELD_DECL):
        declared = each.type.get_declaration()
        if declared.kind in model.RECORDS and "(" in each.type.spelling:
            inner = f"{name}_{each.spelling}"
            before += record(declared, inner)
            lines.append(f"    pub {name_of(each.spelling)}: {inner},\n")
        else:
            lines.append(f"{document(each, '    ')}    pub {name_of(each.spelling)}: {rust_type(each.type, each)},\n")
    word = "struct" if cursor.kind == CursorKind.STRUCT_DECL else "union"
    if lines and "struct_size" in lines[0]:
        lines.append("}\n\n" + EMPTY.format(name=name, size=cursor.type.get_size()))
        return f"{before}{document(cursor)}#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {name} {{\n{''.join(lines)}}}\n\n"
    return f"{before}{document(cursor)}#[repr(C)]\n#[derive(Clone, Copy)]\npub {word} {name} {{\n{''.join(lines)}}}\n\n"


def constants(abi, texts):
    for entry in abi.entries.values():
        if entry.kind == "constant" and not entry.text.startswith("(") and f"#define {entry.name}" in texts:
            value, kind = entry.text.split(" ", 1)
            kind = {"unsigned int": "u32", "unsigned long": "u64", "int": "usize"}[kind]
            yield f"pub const {entry.name}: {kind} = {value};\n"


def layouts(abi, names):
    """Sizes, checked when the file is compiled."""
    for name in names:
        entry = abi.entries[name]
        yield f"const _: () = assert!(core::mem::size_of::<{name}>() == {entry.size} && core::mem::align_of::<{name}>() == {entry.align});\n"


def generate():
    texts = model.read_texts()
    abi, unit = model.read(texts), model.parse(texts)
    wanted = {path for path in texts if path.rpartition("/")[2] in PLUGIN_HEADERS}
    out = [HEAD, f"\npub const TN_ABI_MAJOR: u32 = {abi.major};\npub const TN_ABI_MINOR: u32 = {abi.minor};\n"]
    out += [*constants(abi, "".join(texts[p] for p in wanted)), "\n"]
    done, pending = set(), []
    for cursor in model.cursors(unit, texts):
        name = cursor.spelling
        if cursor.location.file.name not in wanted or (name, cursor.kind) in done:
            continue
        if cursor.kind in model.RECORDS and cursor.is_definition():
            out.append(record(cursor, name))
            pending.append(name)
        elif cursor.kind in model.RECORDS and abi.entries[name].kind == "opaque":
            out.append(f"#[repr(C)]\npub struct {name} {{\n    _opaque: [u8; 0],\n}}\n\n")
        elif cursor.kind == CursorKind.TYPEDEF_DECL and model.entry_of(cursor):
            out.append(f"{document(cursor)}pub type {name} = {rust_type(cursor.underlying_typedef_type, cursor)};\n\n")
        else:
            continue
        done.add((name, cursor.kind))
    return "".join(out) + "".join(layouts(abi, pending))


def update():
    PATH.write_text(generate())
    print(f"{PATH.relative_to(model.ROOT)}: written")
