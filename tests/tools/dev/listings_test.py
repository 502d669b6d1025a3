#!/usr/bin/env python3
"""A page's listings are found, compiled and compared, and a difference is told with page and line."""

import pathlib
import sys
import tempfile
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[3] / folder) for folder in ("tools/dev", "tests/guide")]
import listings  # noqa: E402
import run_page  # noqa: E402

PAGE = """# A page

```python
print("one")
print("two")
```
```text
one
t…o
```

```cpp
int x = 1;
```
```cpp
int main() {}
```
"""


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "page.md"

    def page(self, text):
        self.path.write_text(text, encoding="utf-8")
        return self.path

    def complaint(self, text):
        with self.assertRaises(listings.Mismatch) as caught:
            run_page.run_python_page(self.page(text))
        return str(caught.exception)

    def test_listings_know_their_lines_and_outputs(self):
        found = listings.read(self.page(PAGE))
        self.assertEqual([(x.language, x.line, x.output, x.is_program) for x in found],
                         [("python", 4, "one\nt…o\n", False), ("cpp", 13, None, False), ("cpp", 16, None, True)])

    def test_a_page_that_is_right_passes(self):
        self.assertEqual(run_page.run_python_page(self.page(PAGE)), 1)

    def test_another_output_is_told_with_its_line(self):
        self.assertIn("page.md:8: the page shows", self.complaint(PAGE.replace("\none\n", "\nother\n")))

    def test_more_output_than_shown_is_a_difference(self):
        self.assertIn("page.md:8:", self.complaint(PAGE.replace('print("two")', 'print("two\\nthree")')))

    def test_a_line_of_dots_is_any_number_of_lines(self):
        for lines in ("…\ntwo", "one\n…", "…", "one\ntwo\n…"):
            listing = listings.read(self.page(PAGE.replace("one\nt…o", lines)))[0]
            listing.check("one\ntwo\n")
        with self.assertRaises(listings.Mismatch):
            listings.read(self.page(PAGE.replace("one\nt…o", "…\none")))[0].check("one\ntwo\n")

    def test_an_exception_is_told_with_the_line_of_the_page(self):
        text = self.complaint(PAGE.replace('print("two")', "unknown"))
        self.assertIn("page.md:4: the listing failed", text)
        self.assertIn('page.md", line 5', text)

    def test_a_shell_command_that_fails_is_told(self):
        self.assertIn("page.md:2: exit status 3", self.complaint("```sh\nexit 3\n```\n"))

    def test_an_output_without_a_listing_is_refused(self):
        self.assertIn("page.md:2: an output without", self.complaint("```text\none\n```\n"))

    def test_compilers_are_told_page_and_line(self):
        page = self.page(PAGE)
        self.assertEqual(listings.program_of(page), f'#line 16 "{page.resolve()}"\nint main() {{}}\n')
        self.assertIn(f'#line 13 "{page.resolve()}"\nint x = 1;\nend_of_listing();', listings.program_of_fragments([page]))

    def test_a_fragment_that_ends_early_is_told(self):
        page = self.page("```cpp\none();\n```\n```cpp\ntwo();\n```\n")
        program = self.path.with_name("program")
        program.write_text("#!/bin/sh\nprintf '1\\036'\necho thrown\nexit 1\n")
        program.chmod(0o755)
        with self.assertRaises(listings.Mismatch) as caught:
            run_page.run_fragments(program, page)
        self.assertIn("page.md:5: the listing failed, exit status 1\nthrown", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
