"""Every Python and shell listing of the model builder's guide does what its page shows."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = sorted(path for path in (ROOT / 'docs/guide').glob('*.md') if '```python' in path.read_text(encoding='utf-8'))


def test_every_page_is_compiled_and_listed():
    built, index = ((ROOT / path).read_text(encoding='utf-8') for path in ('tests/guide/meson.build', 'docs/guide/README.md'))
    assert len(PAGES) >= 7
    for page in PAGES:
        assert f"'{page.stem}'" in built and f'({page.name})' in index, page


@pytest.mark.parametrize('page', PAGES, ids=lambda path: path.stem)
def test_the_listings_do_what_the_page_shows(page):
    backend = os.environ.get('TENON_GUIDE_BACKEND')
    if backend is None:
        pytest.skip('TENON_GUIDE_BACKEND is not set: ./dev test builds the template plugin and sets it')
    done = subprocess.run([sys.executable, ROOT / 'tests/guide/run_page.py', page, 'python', '--backend', backend], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=280)
    assert done.returncode == 0, done.stdout
