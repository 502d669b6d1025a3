#!/usr/bin/env python3
"""Runs the node tests of the package onnx, which define what each op computes, through tenon.onnx.

Usage: node_tests.py [--write | NAME...]. With --write it writes docs/onnx.md, whose list of what fails the tests hold.
"""
import argparse
import collections
import pathlib
import sys
import tempfile
import textwrap
import warnings

import numpy as np

import tenon

PAGE = pathlib.Path(__file__).resolve().parents[3] / 'docs/onnx.md'
SMALL = 'INT4', 'UINT4', 'INT2', 'UINT2', 'FLOAT4E2M1', 'FLOAT8E4M3FN', 'FLOAT8E4M3FNUZ', 'FLOAT8E5M2', 'FLOAT8E5M2FNUZ', 'FLOAT8E8M0'
# The text of Resize, ONNX Runtime and PyTorch align the corners of what there is; the tests' reference takes a length that is no integer.
FRACTIONAL = {'test_resize_downsample_scales_linear_align_corners', 'test_resize_downsample_scales_cubic_align_corners'}
# Values are drawn: shapes and dtypes are compared.
RANDOM = {'Bernoulli', 'RandomUniformLike', 'RandomNormalLike', 'Multinomial'}


def cases():
    """The tests, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        from onnx.backend.test.case.node import collect_testcases
        return {case.name: case for case in collect_testcases(None) if case.model is not None}


def types_of(case):
    """The names of all element types of a model's inputs, results and casts."""
    import onnx
    names = set()

    def add(proto):
        kind = proto.WhichOneof('value')
        if kind == 'tensor_type':
            names.add(onnx.TensorProto.DataType.Name(proto.tensor_type.elem_type))
        elif kind in ('sequence_type', 'optional_type'):
            add(getattr(proto, kind).elem_type)
        else:
            names.add(kind)
    graph = case.model.graph
    for value in [*graph.input, *graph.output, *graph.value_info]:
        add(value.type)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name in ('to', 'output_dtype') and attribute.i:
                names.add(onnx.TensorProto.DataType.Name(attribute.i))
    return names


def left_out(case):
    """Why a test is outside of what Tenon supports, or None."""
    types = types_of(case)
    if 'STRING' in types:
        return 'strings'
    if any(node.op_type == 'ImageDecoder' for node in case.model.graph.node):
        return 'images in files of their own'
    small = sorted(types & set(SMALL))
    if small:
        return 'floats of 8 bits and less, integers of less'
    return 'corners aligned to a length that is no integer' if case.name in FRACTIONAL else None


def array_of(value):
    """Data of a test as an array."""
    if hasattr(value, 'raw_data'):
        import onnx
        return onnx.numpy_helper.to_array(value)
    return np.asarray(value)


def given(value):
    """An input of a test as tenon takes it."""
    if value is None or isinstance(value, (list, tuple)):
        return None if value is None else [given(one) for one in value]
    array = array_of(value)
    if array.dtype.name == 'bfloat16':
        return tenon.tensor(array.astype(np.float32)).to(tenon.bfloat16)
    return tenon.tensor(np.array(array, order='C'))


def compare(found, wanted, case, drawn):
    """Raises AssertionError where they differ."""
    if wanted is None:
        assert found is None, 'a value where none is wanted'
        return
    if isinstance(wanted, (list, tuple)):
        assert isinstance(found, list), 'no sequence'
        assert len(found) == len(wanted), f'{len(found)} items, not {len(wanted)}'
        for one, other in zip(found, wanted):
            compare(one, other, case, drawn)
        return
    wanted = array_of(wanted)
    assert tuple(found.shape) == wanted.shape, f'shape {tuple(found.shape)}, not {wanted.shape}'
    assert found.dtype.name == wanted.dtype.name, f'dtype {found.dtype.name}, not {wanted.dtype.name}'
    if drawn:
        return
    if wanted.dtype.name == 'bfloat16':
        # The numbers of a half precision may differ by one in the last place.
        np.testing.assert_allclose(found.to(tenon.float32).numpy(), wanted.astype(np.float32), rtol=1.6e-2, atol=1e-3)
        return
    array = found.numpy()
    if wanted.dtype.kind in 'biu':
        np.testing.assert_array_equal(array, wanted)
    else:
        np.testing.assert_allclose(array, wanted, rtol=2e-3 if wanted.dtype.name == 'float16' else max(case.rtol, 1e-3), atol=max(case.atol or 0, 1e-6))


def run(case, folder):
    """What is wrong, in a line, or None."""
    path = folder / 'model.onnx'
    path.write_bytes(case.model.SerializeToString())
    drawn = any(node.op_type in RANDOM for node in case.model.graph.node) or case.name.startswith('test_training_dropout')
    try:
        model = tenon.onnx.load(path)
        for inputs, outputs in case.data_sets:
            found = model._model.run(tuple(given(value) for value in inputs))
            assert len(found) == len(outputs), f'{len(found)} results, not {len(outputs)}'
            for one, other in zip(found, outputs):
                compare(one, other, case, drawn)
    except Exception as error:  # whatever it is, it is this test's failure
        return ' '.join(str(error).replace(str(path), 'model').split())[:200]
    return None


def judge(names=()):
    """(passed, failed with why, left out with why)."""
    passed, failed, out = [], {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, case in cases().items():
            if names and not any(one in name for one in names):
                continue
            why = left_out(case)
            if why:
                out[name] = why
                continue
            wrong = run(case, pathlib.Path(folder))
            if wrong:
                failed[name] = wrong
            else:
                passed.append(name)
    return passed, failed, out


HEAD = '''# What runs of ONNX

Generated by `tests/python/onnx/node_tests.py --write`; the tests check it. {cases} node tests of the package onnx {version} say what its ops
compute, opsets {opsets}. {passed} pass, {failed} fail, {left} are left out for the reasons below. Numbers agree within 1e-3 of each
(2e-3 in float16, 1.6e-2 in bfloat16); random results are compared in shape and dtype.

[guide/onnx.md](guide/onnx.md) shows how to load, run, trace and write models. [benchmarks/onnx_models.md](../benchmarks/onnx_models.md)
compares published models with ONNX Runtime, in error and time. A model that ONNX Runtime saved with all its optimizations holds convolutions
laid out for one processor (`com.microsoft.nchwc`) and is refused: save it at the level "extended".

## Left out

| why | tests |
|---|---|
{reasons}

## Failing

{failing}

## Ops

The {count} ops that have converters. An op without one runs if the model brings a function of that name.

{ops}
'''


def page(passed, failed, out):
    """What docs/onnx.md says about the results."""
    import onnx
    by_reason = collections.Counter(out.values())
    versions = sorted({opset.version for case in cases().values() for opset in case.model.opset_import if opset.domain == ''})
    failing = '\n'.join(f'- `{name}`: {why}' for name, why in failed.items()) or 'None.'
    ops = textwrap.fill(', '.join(dict.fromkeys(tenon.onnx.converters())), 138, break_long_words=False, break_on_hyphens=False)
    return HEAD.format(
        cases=len(passed) + len(failed) + len(out), version=onnx.__version__, opsets=f'{versions[0]} to {versions[-1]}', passed=len(passed),
        failed=len(failed), left=len(out), reasons='\n'.join(f'| {why} | {count} |' for why, count in sorted(by_reason.items())),
        failing=failing, count=len(dict.fromkeys(tenon.onnx.converters())), ops=ops)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', help='run tests whose names contain one of these')
    parser.add_argument('--write', action='store_true', help='write docs/onnx.md')
    options = parser.parse_args()
    passed, failed, out = judge(options.names)
    for name, why in failed.items():
        print(f'{name}: {why}')
    print(f'{len(passed)} passed, {len(failed)} failed, {len(out)} left out: {dict(collections.Counter(out.values()))}')
    if options.write:
        PAGE.write_text(page(passed, failed, out))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
