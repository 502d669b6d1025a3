"""Pictures of programs: SVG that any viewer displays, with every node below the nodes it reads."""
import re
import xml.etree.ElementTree as ET

import pytest

import tenon
from tenon import nn
from tenon.graph import cond, loop

SVG = '{http://www.w3.org/2000/svg}'


def boxes(parent):
    """(class, texts, x, y, width, height) of the boxes of a group, and their elements."""
    found = []
    for group in parent.findall(f'{SVG}g[@class]'):
        x, y = map(float, re.findall(r'-?\d+', group.get('transform')))
        rect = group.find(f'{SVG}rect')
        found.append((group.get('class'), [text.text for text in group.findall(f'{SVG}text')], x, y, float(rect.get('width')), float(rect.get('height')), group))
    return found


def check_layout(parent):
    """No box overlaps another one, and edges go down from box to box."""
    placed = boxes(parent)
    for i, (_, _, x, y, w, h, _) in enumerate(placed):
        for _, _, x2, y2, w2, h2, _ in placed[:i]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y
    for path in parent.findall(f'{SVG}path'):
        x1, y1, *_, x2, y2 = map(float, re.findall(r'-?\d+', path.get('d')))
        assert y1 < y2
        assert any(abs(x + w / 2 - x1) <= 1 and abs(y + h - y1) <= 1 for _, _, x, y, w, h, _ in placed)
        assert any(abs(x + w / 2 - x2) <= 1 and abs(y - y2) <= 1 for _, _, x, y, w, h, _ in placed)
    return placed


def test_a_network():
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))
    program = tenon.graph.trace(lambda a, b: (net(a + b * 2).softmax(-1), a < b), tenon.ones(3, 8), tenon.ones(3, 8))
    picture = ET.fromstring(program.svg())
    assert picture.tag == f'{SVG}svg' and program.svg() == program._repr_svg_()
    placed = check_layout(picture)
    kinds = [kind for kind, *_ in placed]
    assert kinds.count('input') == 2 and kinds.count('result') == 2
    nodes = [one for one in placed if one[0] not in ('input', 'result')]
    assert len(nodes) == program._program.facts['nodes'] and 'fused' in kinds
    texts = [text for _, lines, *_ in placed for text in lines]
    assert {'input0', 'f32[3, 8]', 'a result'} <= {*texts} and any(text.startswith('→ bool[') for text in texts)
    assert any(text.startswith('arena f32 at ') for text in texts)
    assert any('mul + add' in text for text in texts) and any(re.fullmatch(r'.*weight.* f32\[\d+\]', text) for text in texts)
    assert len(picture.findall(f'{SVG}path')) >= len(nodes)
    titles = [one[-1].find(f'{SVG}title').text for one in nodes]
    assert all(text in program.explain() for text in (title.strip() for title in titles))


def test_bodies_are_drawn_inside_their_node():
    def fn(x):
        return cond(x.sum() < 1, lambda: x.exp(), lambda: loop(lambda y: y.sum() > 1, lambda y: y * 0.5 - 1, x))

    picture = ET.fromstring(tenon.graph.trace(fn, tenon.ones(3)).svg())
    control = next(one for one in check_layout(picture) if one[0] == 'control')
    _, lines, _, _, width, height, group = control
    assert lines[0] == 'cond'
    inner = group.find(f'{SVG}g')
    branches = inner.findall(f'{SVG}g')
    assert [branch.find(f'{SVG}text').text for branch in branches] == ['then', 'else']
    names = []
    for branch in branches:
        placed = check_layout(branch.find(f'{SVG}g'))
        names += [box[1][0] for box in placed]
        assert all(x + w <= width and y + h <= height for _, _, x, y, w, h, _ in placed)
    assert 'exp' in names and 'loop' in names


@pytest.mark.parametrize('name', ['a<b', '"&'])
def test_names_are_escaped(name):
    net = nn.Module()
    net.register_parameter(name, nn.Parameter(tenon.ones(3)))
    net.forward = lambda x: x + dict(net.named_parameters())[name]
    picture = ET.fromstring(tenon.graph.trace(net, tenon.ones(3)).svg())
    assert f'{name} f32[3]' in [text.text for text in picture.iter(f'{SVG}text')]
