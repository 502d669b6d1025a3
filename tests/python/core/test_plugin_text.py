"""What a plugin says need not be UTF-8. Runs in a separate process, because the plugin brings a device."""
import os
import subprocess
import sys

import pytest

PROGRAM = """
import sys
import tenon
tenon.load_plugin(sys.argv[1])
assert tenon.device('test.latin').info['name'] == 'Gr\\ufffdn', tenon.device('test.latin').info
x = tenon.empty(3, device='test.latin')
for add in (lambda x: x + x, tenon.graph.trace(lambda x: x + x, x, device='test.latin')):
    try:
        add(x)
    except tenon.InternalError as error:
        assert str(error) == '[add] [Gr\\ufffdn] no answer', error
    else:
        raise AssertionError('no error')
assert [p['state'] for p in tenon.plugins() if p['path'] == sys.argv[1]] == ['loaded']
"""


def test_bytes_that_are_no_text_are_shown_as_such():
    plugin = os.environ.get('TENON_LATIN_PLUGIN')
    if plugin is None:
        pytest.skip('TENON_LATIN_PLUGIN is not set: ./dev test builds the plugin and sets it')
    done = subprocess.run([sys.executable, '-c', PROGRAM, plugin], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
