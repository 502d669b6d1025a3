"""Models of classical machine learning as scikit-learn's and boosted trees' converters write them, compared with ONNX Runtime."""
import numpy as np
import onnx
import pytest
from nodes_beside import ML, check, f, rng
from onnx import TensorProto, helper

import tenon


def ml(op, results=('y',), **attributes):
    return helper.make_node(op, ['x'], list(results), domain=ML, **attributes)


def numbers(*shape):
    return f(*shape).ravel().tolist()


TRANSFORMS = 'NONE', 'LOGISTIC', 'SOFTMAX', 'SOFTMAX_ZERO'


@pytest.mark.parametrize('how', TRANSFORMS)
@pytest.mark.parametrize(('targets', 'labels'), [(1, [5, 7]), (2, [5, 7]), (3, [7, 5, 6])])
def test_classes_by_lines(tmp_path, targets, labels, how):
    node = ml('LinearClassifier', ('label', 'scores'), coefficients=numbers(targets, 4), intercepts=numbers(targets), classlabels_ints=labels, post_transform=how)
    check(tmp_path, [node], {'x': f(9, 4)}, results=('label', 'scores'))


@pytest.mark.parametrize('how', TRANSFORMS)
@pytest.mark.parametrize('rows', [(9,), ()])
def test_regression_by_lines(tmp_path, rows, how):
    node = ml('LinearRegressor', coefficients=numbers(3, 4), intercepts=numbers(3), targets=3, post_transform=how)
    check(tmp_path, [node], {'x': f(*rows, 4)})
    check(tmp_path, [ml('LinearRegressor', coefficients=numbers(4))], {'x': f(*rows, 4)})


@pytest.mark.parametrize('norm', ['MAX', 'L1', 'L2'])
def test_norms_of_rows(tmp_path, norm):
    check(tmp_path, [ml('Normalizer', norm=norm)], {'x': np.concatenate([f(5, 4), np.zeros((1, 4), 'f4'), -np.abs(f(1, 4))])})


@pytest.mark.parametrize('count', [1, 4])
def test_columns_are_scaled_and_imputed(tmp_path, count):
    x = f(6, 4)
    x[2, 1] = x[0, 0] = np.nan
    x[3, 3] = 0
    check(tmp_path, [ml('Scaler', offset=numbers(count), scale=numbers(count))], {'x': f(6, 4)})
    for old in (np.nan, 0.0):
        check(tmp_path, [ml('Imputer', imputed_value_floats=numbers(count), replaced_value_float=old)], {'x': x})
    integers = rng.integers(0, 3, (6, 4))
    check(tmp_path, [ml('Imputer', imputed_value_int64s=list(range(7, 7 + count)), replaced_value_int64=1)], {'x': integers})


def test_categories(tmp_path):
    check(tmp_path, [ml('OneHotEncoder', cats_int64s=[1, 3, 2])], {'x': rng.integers(0, 5, (6, 2))})
    check(tmp_path, [helper.make_node('FeatureVectorizer', ['x', 'z'], ['y'], domain=ML, inputdimensions=[2, 3])], {'x': f(6, 2), 'z': f(6, 3)})


KERNELS = {'LINEAR': [0.0, 0.0, 0.0], 'RBF': [0.4, 0.0, 0.0], 'POLY': [0.3, 0.5, 3.0], 'SIGMOID': [0.2, 0.1, 0.0]}


@pytest.mark.parametrize('kernel', KERNELS)
@pytest.mark.parametrize(('counts', 'likely', 'how'), [([3, 2], False, 'NONE'), ([3, 2], False, 'LOGISTIC'), ([3, 2], False, 'SOFTMAX'), ([3, 2], True, 'NONE'),
                                                       ([2, 1, 3], False, 'NONE'), ([2, 1, 3], True, 'NONE'), ([2, 1, 3, 2], True, 'SOFTMAX')])
def test_classes_by_support_vectors(tmp_path, kernel, counts, likely, how):
    classes, vectors = len(counts), sum(counts)
    pairs = classes * (classes - 1) // 2
    of_pairs = {'prob_a': (-np.abs(f(pairs))).tolist(), 'prob_b': numbers(pairs)} if likely else {}
    node = ml('SVMClassifier', ('label', 'scores'), kernel_type=kernel, kernel_params=KERNELS[kernel], coefficients=numbers(classes - 1, vectors),
              support_vectors=numbers(vectors, 4), vectors_per_class=counts, rho=numbers(pairs), classlabels_ints=list(range(3, 3 + classes)), post_transform=how, **of_pairs)
    check(tmp_path, [node], {'x': f(9, 4)}, results=('label', 'scores'), traces=not likely)


@pytest.mark.parametrize('kernel', KERNELS)
@pytest.mark.parametrize('one_class', [0, 1])
def test_regression_by_support_vectors(tmp_path, kernel, one_class):
    node = ml('SVMRegressor', kernel_type=kernel, kernel_params=KERNELS[kernel], coefficients=numbers(5), support_vectors=numbers(5, 4), n_supports=5, rho=[0.1],
              one_class=one_class)
    check(tmp_path, [node], {'x': f(9, 4)})


def test_more_vectors_than_a_block(tmp_path):
    node = ml('SVMRegressor', kernel_type='RBF', kernel_params=KERNELS['RBF'], coefficients=numbers(150), support_vectors=numbers(150, 4), n_supports=150, rho=[0.1])
    check(tmp_path, [node], {'x': f(9, 4)})


def load(folder, nodes, results, kind=TensorProto.FLOAT):
    graph = helper.make_graph(nodes, 'test', [helper.make_tensor_value_info('x', kind, None)], [onnx.ValueInfoProto(name=name) for name in results])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17), helper.make_opsetid(ML, 3)], ir_version=8)
    (folder / 'm.onnx').write_bytes(model.SerializeToString())
    return tenon.onnx.load(folder / 'm.onnx')


def test_maps_of_scores_are_the_scores(tmp_path):
    model = load(tmp_path, [ml('ZipMap', classlabels_int64s=[5, 6])], ['y'])
    x = tenon.tensor(f(3, 2))
    assert (model(x) == x).all()


@pytest.mark.parametrize(('node', 'why'), [
    (ml('LinearRegressor', name='bad', coefficients=[1.0] * 5), "LinearRegressor 'bad': 5 numbers in coefficients, not 4"),
    (ml('LinearClassifier', name='bad', coefficients=[1.0] * 8, intercepts=[0.0, 0.0], classlabels_ints=[1, 2, 3]), "'bad': 3 labels for 2 intercepts"),
    (ml('LinearClassifier', name='bad', coefficients=[1.0] * 4, intercepts=[0.0], classlabels_strings=['a', 'b']), 'labels that are strings is not supported'),
    (ml('SVMClassifier', name='bad', vectors_per_class=[2, -1], classlabels_ints=[1, 2]), "'bad': vectors_per_class does not fit 2 labels"),
    (ml('SVMClassifier', name='bad', vectors_per_class=[2, 1], support_vectors=[1.0] * 12, classlabels_ints=[1, 2], coefficients=[1.0]), '1 coefficients for 3 vectors of 2 classes'),
    (ml('SVMRegressor', name='bad', n_supports=2, rho=[0.0], support_vectors=[1.0] * 7, coefficients=[1.0] * 2), "'bad': 7 numbers in support_vectors, not 8"),
    (ml('Normalizer', name='bad', norm='L3'), 'norm L3 is not supported')])
def test_wrong_attributes(tmp_path, node, why):
    with pytest.raises(tenon.Error, match=why):
        load(tmp_path, [node], ['y'])(tenon.zeros(2, 4))


def test_equal_votes_of_trees_are_a_tie(tmp_path):
    """Five of ten trees vote for the second class: 0.1 in f32 is a little more than a tenth."""
    leaves = {'class_treeids': list(range(10)), 'class_nodeids': [0] * 10, 'class_ids': [0] * 10, 'class_weights': [0.1] * 5 + [0.0] * 5}
    nodes = {'nodes_treeids': list(range(10)), 'nodes_nodeids': [0] * 10, 'nodes_featureids': [0] * 10, 'nodes_values': [0.0] * 10, 'nodes_modes': ['LEAF'] * 10,
             'nodes_truenodeids': [0] * 10, 'nodes_falsenodeids': [0] * 10}
    node = ml('TreeEnsembleClassifier', ('label', 'scores'), classlabels_int64s=[0, 1], **nodes, **leaves)
    check(tmp_path, [node], {'x': f(2, 1)}, results=('label', 'scores'), traces=False)


def trees(count, features, kind, outputs, depth=3, modes=('BRANCH_LEQ',), positive=False):
    """Attributes of full trees: leaves have one weight each, of targets or classes."""
    at = {name: [] for name in 'treeids nodeids featureids values modes truenodeids falsenodeids missing_value_tracks_true'.split()}
    leaves = {name: [] for name in ('treeids', 'nodeids', 'ids', 'weights')}
    for tree in range(count):
        for node in range(2 ** depth - 1):
            leaf = node >= 2 ** (depth - 1) - 1
            row = [tree, node, 0 if leaf else int(rng.integers(features)), 0.0 if leaf else float(rng.normal()), 'LEAF' if leaf else str(rng.choice(modes)),
                   0 if leaf else 2 * node + 1, 0 if leaf else 2 * node + 2, int(rng.integers(2))]
            for name, value in zip(at, row):
                at[name].append(value)
            if leaf:
                weight = float(rng.normal())
                for name, value in zip(leaves, [tree, node, int(rng.integers(outputs)), abs(weight) / count if positive else weight]):
                    leaves[name].append(value)
    return {**{f'nodes_{name}': values for name, values in at.items()}, **{f'{kind}_{name}': values for name, values in leaves.items()}}


ALL_MODES = 'BRANCH_LEQ', 'BRANCH_LT', 'BRANCH_GTE', 'BRANCH_GT'


@pytest.mark.parametrize('aggregate', ['SUM', 'AVERAGE', 'MIN', 'MAX'])
@pytest.mark.parametrize(('targets', 'modes'), [(1, ALL_MODES[:1]), (3, ALL_MODES)])
def test_regression_by_trees(tmp_path, aggregate, targets, modes):
    x = f(70, 5)
    x[3, 2] = np.nan
    base = {'base_values': [0.5]} if targets == 1 else {}
    node = helper.make_node('TreeEnsembleRegressor', ['x'], ['y'], domain=ML, n_targets=targets, aggregate_function=aggregate, **base, **trees(9, 5, 'target', targets, modes=modes))
    check(tmp_path, [node], {'x': x}, traces=False)


@pytest.mark.parametrize(('classes', 'used', 'positive', 'how'), [
    (3, 3, False, 'NONE'), (3, 3, False, 'SOFTMAX'), (3, 3, False, 'LOGISTIC'), (2, 1, True, 'NONE'), (2, 1, False, 'NONE'),
    (2, 1, False, 'LOGISTIC')])
def test_classes_by_trees(tmp_path, classes, used, positive, how):
    node = helper.make_node('TreeEnsembleClassifier', ['x'], ['label', 'scores'], domain=ML, classlabels_int64s=list(range(classes)), post_transform=how,
                            **trees(60, 5, 'class', used, positive=positive))
    check(tmp_path, [node], {'x': f(70, 5)}, results=('label', 'scores'), traces=False)


EVERY_MODE = *ALL_MODES, 'BRANCH_EQ', 'BRANCH_NEQ'


@pytest.mark.parametrize('modes', [*((mode,) for mode in EVERY_MODE), EVERY_MODE])
@pytest.mark.parametrize('rows', [1, 40])
def test_rows_that_meet_splits(tmp_path, modes, rows):
    """Features equal splits, infinities and zeros of both signs included, or are missing, but not where ONNX Runtime takes "missing != split" for
    true whatever the node says of missing values."""
    attributes = trees(30, 3, 'target', 2, depth=6, modes=modes)
    special = [-np.inf, -1.5, -0.0, 0.0, 1e-45, 0.5, 3e38, np.inf]
    attributes['nodes_values'] = rng.choice(special, len(attributes['nodes_values'])).tolist()
    x = rng.choice(special if 'BRANCH_NEQ' in modes else [*special, np.nan], (rows, 3)).astype('f4')
    check(tmp_path, [helper.make_node('TreeEnsembleRegressor', ['x'], ['y'], domain=ML, n_targets=2, **attributes)], {'x': x}, traces=False)


def pruned(attributes, share):
    """The trees with some inner nodes turned into leaves without a weight."""
    inner = [i for i, mode in enumerate(attributes['nodes_modes']) if mode != 'LEAF' and attributes['nodes_nodeids'][i] > 2]
    modes = list(attributes['nodes_modes'])
    for i in rng.choice(inner, int(len(inner) * share), replace=False):
        modes[i] = 'LEAF'
    return {**attributes, 'nodes_modes': modes}


@pytest.mark.parametrize('threads', [1, 3])
@pytest.mark.parametrize('missing', [False, True])
def test_many_rows_through_uneven_trees(tmp_path, threads, missing):
    x = f(1500, 7)
    if missing:
        x[rng.random(x.shape) < 0.01] = np.nan
    node = helper.make_node('TreeEnsembleRegressor', ['x'], ['y'], domain=ML, n_targets=3, **pruned(trees(50, 7, 'target', 3, depth=8), 0.3))
    before = tenon.num_threads()
    tenon.set_num_threads(threads)
    try:
        check(tmp_path, [node], {'x': x}, traces=False)
    finally:
        tenon.set_num_threads(before)


def test_rows_do_not_depend_on_their_neighbours(tmp_path):
    """Each alone gives the bits that all together give, in both types of features."""
    node = helper.make_node('TreeEnsembleRegressor', ['x'], ['y'], domain=ML, n_targets=2, **trees(37, 5, 'target', 2, depth=7, modes=EVERY_MODE))
    for kind, dtype in (TensorProto.FLOAT, 'f4'), (TensorProto.DOUBLE, 'f8'):
        model = load(tmp_path, [node], ['y'], kind)
        x = tenon.tensor(f(301, 5).astype(dtype))
        alone = tenon.concat([model(x[i:i + 1]) for i in range(301)])
        assert (model(x) == alone).all()


def test_trees_with_missing_nodes(tmp_path):
    attributes = trees(1, 5, 'target', 1)
    attributes['nodes_truenodeids'][0] = 77
    node = helper.make_node('TreeEnsembleRegressor', ['x'], ['y'], name='bad', domain=ML, n_targets=1, **attributes)
    graph = helper.make_graph([node], 'test', [helper.make_tensor_value_info('x', TensorProto.FLOAT, None)], [onnx.ValueInfoProto(name='y')])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, 3)], ir_version=8)
    (tmp_path / 'm.onnx').write_bytes(model.SerializeToString())
    loaded = tenon.onnx.load(tmp_path / 'm.onnx')
    with pytest.raises(tenon.Error, match="'bad': node 0 of tree 0 leads to 77, which is not there"):
        loaded(tenon.zeros(2, 5))
    attributes = trees(1, 5, 'target', 1)
    attributes['nodes_truenodeids'][1] = 0
    node = helper.make_node('TreeEnsembleRegressor', ['x'], ['y'], name='bad', domain=ML, n_targets=1, **attributes)
    model.graph.node[0].CopyFrom(node)
    (tmp_path / 'm.onnx').write_bytes(model.SerializeToString())
    with pytest.raises(tenon.Error, match='a node with two parents'):
        tenon.onnx.load(tmp_path / 'm.onnx')(tenon.zeros(2, 5))
