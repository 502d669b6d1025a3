"""The lock: the headers are what it says, other compilers agree, and each kind of change gets its answer.

usage: lock_test.py LIBTENON
"""

import copy
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import abi
import lock
import model
import rust
import stub

HEADERS = model.read()


def changed(edit):
    """Changes that an edit of a copy of the ABI makes."""
    new = copy.deepcopy(HEADERS)
    edit(new.entries)
    return lock.compare(HEADERS, new)


def with_field(entries, name, field):
    entries[name].fields.append(field)
    entries[name].size = max(entries[name].size, (field.offset + field.size + 7) // 8 * 8)


class Lock(unittest.TestCase):
    def test_headers_are_those_of_the_lock(self):
        self.assertEqual(abi.check(HEADERS), [])

    def test_text_comes_back(self):
        text = lock.write(HEADERS)
        self.assertEqual(lock.write(lock.read(text)), text)
        with self.assertRaisesRegex(ValueError, "line 2"):
            lock.read("abi 1.0\nstruct half a line\n")

    def test_other_compilers_agree(self):
        source = abi.asserts(lock.read(abi.lock_path(HEADERS.major).read_text()))
        compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
        self.assertIn("gcc", compilers)
        for compiler in compilers:
            command = [compiler, "-std=gnu11", "-fsyntax-only", f"-I{model.INCLUDE}", "-x", "c", "-"]
            done = subprocess.run(command, input=source, text=True, stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, done.stderr[:800])
            wrong = source.replace("sizeof(tn_view) == 72", "sizeof(tn_view) == 80")
            self.assertNotEqual(wrong, source)
            self.assertNotEqual(subprocess.run(command, input=wrong, text=True, stderr=subprocess.PIPE).returncode, 0)

    def test_rust_bindings_are_up_to_date(self):
        self.assertEqual(rust.PATH.read_text(), rust.generate(), "run ./dev abi --update")

    def test_libtenon_exports_what_the_headers_declare(self):
        text = subprocess.run(["nm", "-D", "--defined-only", LIBTENON], check=True, text=True, stdout=subprocess.PIPE).stdout
        exported = {line.split()[-1].split("@")[0] for line in text.splitlines()}
        drafts = "".join(path.read_text() for path in (model.INCLUDE / "tenon").glob("ext/draft/*.h"))
        draft_functions = set(re.findall(r"\b(tn_\w+)\(", drafts))
        declared = {e.name for e in HEADERS.entries.values() if e.kind == "function"} - {"tn_plugin_query"}
        self.assertEqual(sorted(declared - exported), [], "declared, not exported")
        self.assertEqual(sorted(exported - declared - draft_functions), [], "exported, not declared in a public header")

    def test_structs_hold_what_every_compiler_lays_out_alike(self):
        for entry in HEADERS.entries.values():
            for field in entry.fields:
                self.assertNotRegex(field.type, r"\b(long|_Bool|bool|enum|size_t|int|short|wchar_t)\b", f"{entry.name}.{field.name}")
            if entry.kind == "struct" and entry.fields[0].name != "struct_size":
                # tn_offered_layer grows by the stride that tn_layers tells.
                self.assertIn(entry.name, ("tn_str", "tn_value", "tn_offered_layer"), "has no struct_size and is not known to be frozen")

    def test_structs_that_grow_have_no_padding_at_the_end(self):
        for entry in HEADERS.entries.values():
            if entry.extensible:
                end = max(f.offset + f.size for f in entry.fields)
                self.assertEqual(end, entry.size, f"{entry.name}: a field in its padding could not be told by struct_size")


class Changes(unittest.TestCase):
    def answer(self, edit, breaks, *words):
        changes = changed(edit)
        self.assertEqual(len(changes), 1, [str(c) for c in changes])
        self.assertEqual(changes[0].breaks, breaks, str(changes[0]))
        for word in words:
            self.assertIn(word, str(changes[0]))

    def test_a_field_at_the_end_is_an_addition(self):
        size = HEADERS.entries["tn_kernel"].size
        self.answer(lambda e: with_field(e, "tn_kernel", model.Field(size, 8, "fresh", "uint64_t")), False, "tn_kernel.fresh", "at the end")

    def test_a_field_in_old_padding_is_a_break(self):
        old = copy.deepcopy(HEADERS)
        old.entries["tn_kernel"].size += 8
        new = copy.deepcopy(old)
        new.entries["tn_kernel"].fields.append(model.Field(old.entries["tn_kernel"].size - 4, 4, "fresh", "uint32_t"))
        change, = lock.compare(old, new)
        self.assertTrue(change.breaks)
        self.assertIn("struct_size cannot tell", str(change))

    def test_a_frozen_struct_does_not_grow(self):
        self.answer(lambda e: with_field(e, "tn_str", model.Field(16, 8, "hash", "uint64_t")), True, "tn_str.hash", "frozen")

    def test_a_union_may_get_a_member_that_fits(self):
        self.answer(lambda e: e["tn_value"].fields.append(model.Field(8, 8, "as.fresh", "const void *")), False, "as.fresh")
        self.answer(lambda e: e["tn_value"].fields.append(model.Field(8, 16, "as.fresh", "tn_str")), True, "as.fresh")

    def test_messages_name_struct_field_old_and_new(self):
        def narrow(entries):
            fields = entries["tn_view"].fields
            fields[8] = model.Field(48, 8, "offset", "uint64_t")
        self.answer(narrow, True, "struct tn_view.offset", "was int64_t", "is uint64_t", "put it back")

    def test_parameters_may_be_renamed_but_not_exchanged(self):
        def renamed(entries):
            entries["tn_op_find"].text = "const tn_op * (tn_str text)"
        self.answer(renamed, False, "renamed")

        def exchanged(entries):
            entries["tn_dtype_promote"].text = "tn_status * (tn_dtype b, tn_dtype a, tn_dtype * out)"
        self.answer(exchanged, True, "tn_dtype_promote")

    def test_a_thread_tag_is_a_promise(self):
        def tag(entries):
            entries["tn_op_call"].tag = "init"
        self.answer(tag, True, "tn_op_call", "[thread-safe]", "[init]")

    def test_counts_and_masks_grow(self):
        for name, text, breaks in (("TN_DTYPE_COUNT", "18 unsigned int", False), ("TN_DTYPE_COUNT", "16 unsigned int", True),
                                   ("TN_MASK_ALL", f"{0xffff} unsigned long", False), ("TN_MASK_ALL", f"{0xfffe} unsigned long", True),
                                   ("TN_OK", "1 unsigned int", True)):
            def edit(entries, name=name, text=text):
                entries[name].text = text
            self.answer(edit, breaks, name)

    def test_functions_come_and_do_not_go(self):
        self.answer(lambda e: e.update(tn_fresh=model.Entry("function", "tn_fresh", "void (void)")), False, "tn_fresh: new")
        self.answer(lambda e: e.pop("tn_op_find"), True, "tn_op_find: removed")


class Releases(unittest.TestCase):
    def test_frozen_headers_are_those_of_their_lock(self):
        folders = sorted((abi.HERE / "headers").glob("[0-9]*"))
        self.assertTrue(folders)
        for folder in folders:
            frozen = model.read(model.read_texts(folder))
            self.assertEqual([str(c) for c in lock.compare(lock.read((folder / "abi.lock").read_text()), frozen)], [], folder.name)

    def test_libabigail_finds_nothing_since_the_last_release(self):
        if shutil.which("abidiff") is None:
            self.skipTest("abidiff is missing (Debian: abigail-tools)")
        for name, faults in stub.released_against_now():
            self.assertEqual(faults, [], f"against {name}")

    def test_libabigail_tells_growth_from_breaks(self):
        if shutil.which("abidiff") is None:
            self.skipTest("abidiff is missing (Debian: abigail-tools)")
        with tempfile.TemporaryDirectory(prefix="tenon-abi-") as folder:
            newer, broken = pathlib.Path(folder) / "newer", pathlib.Path(folder) / "broken"
            subprocess.run([sys.executable, abi.HERE / "newer.py", newer], check=True)
            self.assertEqual(stub.abidiff(model.INCLUDE, newer), [])
            self.assertTrue(stub.abidiff(newer, model.INCLUDE), "a struct that shrinks")
            shutil.copytree(model.INCLUDE / "tenon", broken / "tenon")
            text = (broken / "tenon/backend.h").read_text()
            wrong = text.replace("uint32_t index, void* buffer);", "uint64_t index, void* buffer);", 1)
            self.assertNotEqual(text, wrong)
            (broken / "tenon/backend.h").write_text(wrong)
            faults = stub.abidiff(model.INCLUDE, broken)
            self.assertIn("tn_memory_table", "".join(faults))

    def test_a_break_is_not_taken_into_the_lock(self):
        new = copy.deepcopy(HEADERS)
        new.entries["tn_view"].fields[2] = model.Field(8, 8, "ndim", "uint64_t")
        self.assertTrue(any("tn_view.ndim" in fault for fault in abi.against_release(new)))

    def test_an_addition_wants_a_higher_minor(self):
        new = copy.deepcopy(HEADERS)
        new.minor = abi.released(HEADERS.major)[1].minor
        new.entries["tn_fresh"] = model.Entry("function", "tn_fresh", "void (void)", "thread-safe")
        self.assertTrue(any("raise TN_ABI_MINOR" in fault for fault in abi.against_release(new)))
        new.minor += 1
        self.assertEqual(abi.against_release(new), [])

    def test_the_next_minor_is_an_addition(self):
        with tempfile.TemporaryDirectory(prefix="tenon-abi-") as folder:
            subprocess.run([sys.executable, abi.HERE / "newer.py", folder], check=True)
            changes = lock.compare(HEADERS, model.read(model.read_texts(folder)))
            self.assertGreater(len(changes), 30)
            self.assertEqual([str(c) for c in changes if c.breaks], [])


if __name__ == "__main__":
    LIBTENON = sys.argv.pop(1)
    unittest.main()
