"""onnx's own node tests; docs/onnx.md says which are left out and why."""
import node_tests


def test_the_page_lists_what_runs():
    passed, failed, out = node_tests.judge()
    assert not failed, '\n'.join(f'{name}: {why}' for name, why in failed.items())
    assert len(passed) >= 1683
    assert node_tests.page(passed, failed, out) == node_tests.PAGE.read_text(), \
        'run tests/python/onnx/node_tests.py --write in build/python'
