"""torchvision's ops: loaded by the name of its library, compared with what their papers and PyTorch's documentation say, in double precision."""
import numpy as np
import pytest

import tenon.torch as torch

torch.ops.load_library('torchvision/_C.so')
ops = torch.ops.torchvision


def _numbers(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape)


def _bilinear(plane, y, x):
    """A plane read between its pixels; 0 outside."""
    found, height, width = 0.0, *plane.shape
    low_y, low_x = int(np.floor(y)), int(np.floor(x))
    for i in (low_y, low_y + 1):
        for j in (low_x, low_x + 1):
            if 0 <= i < height and 0 <= j < width:
                found += plane[i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return found


def _overlap(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


@pytest.mark.parametrize('count', [0, 1, 7, 100])
def test_nms(count):
    corner = np.random.RandomState(1).rand(count, 2) * 20
    boxes = np.concatenate([corner, corner + 1 + np.random.RandomState(2).rand(count, 2) * 10], 1)
    scores = np.random.RandomState(3).permutation(count) / 7.0
    kept = []
    for i in np.argsort(-scores):
        if all(_overlap(boxes[i], boxes[j]) <= 0.3 for j in kept):
            kept.append(i)
    assert ops.nms(torch.tensor(boxes).reshape(-1, 4), torch.tensor(scores), 0.3).tolist() == kept


def _roi_align(x, rois, scale, lines, columns, ratio, aligned):
    found, (_, channels, height, width) = np.zeros((len(rois), x.shape[1], lines, columns)), x.shape
    for k, (image, x1, y1, x2, y2) in enumerate(rois):
        shift = 0.5 if aligned else 0.0
        start_y, start_x = y1 * scale - shift, x1 * scale - shift
        size_y, size_x = y2 * scale - shift - start_y, x2 * scale - shift - start_x
        if not aligned:
            size_y, size_x = max(size_y, 1), max(size_x, 1)
        count_y, count_x = (ratio or max(int(np.ceil(size / of)), 1) for size, of in ((size_y, lines), (size_x, columns)))
        for p, q in np.ndindex(lines, columns):
            for i, j in np.ndindex(count_y, count_x):
                y, x_ = start_y + size_y / lines * (p + (i + .5) / count_y), start_x + size_x / columns * (q + (j + .5) / count_x)
                if -1 <= y <= height and -1 <= x_ <= width:
                    y, x_ = np.clip(y, 0, height - 1), np.clip(x_, 0, width - 1)
                    found[k, :, p, q] += [_bilinear(x[int(image), c], y, x_) / (count_y * count_x) for c in range(channels)]
    return found


ROIS = np.array([[0, 1, 2, 9, 7], [1, -3.1, -2.1, 4, 30], [1, 2.5, 3.5, 2.7, 3.6]])


@pytest.mark.parametrize('ratio', [0, 2])
@pytest.mark.parametrize('aligned', [False, True])
def test_roi_align(ratio, aligned):
    x = _numbers(2, 3, 8, 10)
    found = ops.roi_align(torch.tensor(x), torch.tensor(ROIS), 0.8, 3, 2, ratio, aligned)
    np.testing.assert_allclose(found.numpy(), _roi_align(x, ROIS, 0.8, 3, 2, ratio, aligned), rtol=1e-5, atol=1e-6)


def test_roi_align_of_no_regions_and_its_gradient():
    x = torch.tensor(_numbers(2, 3, 8, 10), requires_grad=True)
    assert ops.roi_align(x, torch.zeros(0, 5), 1.0, 2, 2, 2, True).shape == (0, 3, 2, 2)
    weights = torch.tensor(_numbers(3, 3, 2, 2, seed=5))
    (ops.roi_align(x, torch.tensor(ROIS), 0.8, 2, 2, 2, True) * weights).sum().backward()
    step = np.zeros(x.shape)
    step[1, 2, 3, 4] = 1e-3
    at = x.detach().numpy()
    slope = sum(sign * (_roi_align(at + sign * step, ROIS, 0.8, 2, 2, 2, True) * weights.numpy()).sum() for sign in (1, -1)) / 2e-3
    assert abs(x.grad[1, 2, 3, 4].item() - slope) < 1e-5


def _deformed(x, weight, offset, mask, bias, stride, pad, dilation):
    batch, channels, height, width = x.shape
    out, per_group, kernel, _ = weight.shape
    lines, columns = offset.shape[-2:]
    groups, offset_groups = channels // per_group, offset.shape[1] // (2 * kernel * kernel)
    offset = offset.reshape(batch, offset_groups, kernel, kernel, 2, lines, columns)
    mask = mask.reshape(batch, offset_groups, kernel, kernel, lines, columns)
    found = np.zeros((batch, out, lines, columns))
    for n, o, p, q in np.ndindex(batch, out, lines, columns):
        for c, i, j in np.ndindex(per_group, kernel, kernel):
            channel = o // (out // groups) * per_group + c
            g = channel // (channels // offset_groups)
            y, x_ = p * stride - pad + i * dilation + offset[n, g, i, j, 0, p, q], q * stride - pad + j * dilation + offset[n, g, i, j, 1, p, q]
            found[n, o, p, q] += weight[o, c, i, j] * mask[n, g, i, j, p, q] * _bilinear(x[n, channel], y, x_)
    return found + bias[:, None, None]


@pytest.mark.parametrize('stride, pad, dilation', [(1, 1, 1), (2, 0, 1), (1, 2, 2)])
def test_deform_conv2d(stride, pad, dilation):
    x, weight, bias = _numbers(2, 4, 6, 7), _numbers(6, 2, 3, 3, seed=1), _numbers(6, seed=2)
    lines, columns = ((n + 2 * pad - 2 * dilation - 1) // stride + 1 for n in (6, 7))
    offset, mask = _numbers(2, 36, lines, columns, seed=3), np.random.RandomState(4).rand(2, 18, lines, columns)
    given = [torch.tensor(each, requires_grad=True) for each in (x, weight, offset, mask, bias)]
    found = ops.deform_conv2d(*given, stride, stride, pad, pad, dilation, dilation, 2, 2, True)
    np.testing.assert_allclose(found.detach().numpy(), _deformed(x, weight, offset, mask, bias, stride, pad, dilation), rtol=1e-9, atol=1e-9)
    assert torch.autograd.gradcheck(lambda *a: ops.deform_conv2d(*a, stride, stride, pad, pad, dilation, dilation, 2, 2, True), given, fast_mode=True)


def test_other_libraries_and_ops_are_refused():
    with pytest.raises(OSError, match='built for PyTorch'):
        torch.ops.load_library('elsewhere/_C.so')
    with pytest.raises(NotImplementedError, match='no kernel'):
        ops.roi_pool(torch.ones(1, 1, 4, 4), torch.zeros(1, 5), 1.0, 2, 2)
