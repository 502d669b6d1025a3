"""Ops of torchvision, whose own library has them for PyTorch alone; written in ops of tenon, so that they run on every device."""
import tenon.torch as torch

from . import Library

_LIBRARY = Library('torchvision', 'DEF')
_ROIS = 'Tensor input, Tensor rois, float spatial_scale, {}int pooled_height, int pooled_width'.format
# Declared alone; a call says that there is no kernel.
_DECLARED = f'''roi_pool({_ROIS('')}) -> (Tensor, Tensor)
ps_roi_pool({_ROIS('')}) -> (Tensor, Tensor)
ps_roi_align({_ROIS('')}, int sampling_ratio) -> (Tensor, Tensor)
qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
qroi_align({_ROIS('')}, int sampling_ratio, bool aligned) -> Tensor
_roi_align_backward(Tensor grad) -> Tensor
_roi_pool_backward(Tensor grad) -> Tensor
_ps_roi_align_backward(Tensor grad) -> Tensor
_ps_roi_pool_backward(Tensor grad) -> Tensor
_deform_conv2d_backward(Tensor grad) -> Tensor'''


def _op(schema):
    def declare(function):
        _LIBRARY.impl(_LIBRARY.define(schema), function)
        return function
    return declare


@_op('_cuda_version() -> int')
def _cuda_version():
    return -1


@_op('nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor')
def nms(dets, scores, iou_threshold):
    """Indices of the boxes (x1, y1, x2, y2) that overlap no box of a higher score by more than the threshold, best first."""
    with torch.no_grad():
        order = torch.sort(scores, stable=True, descending=True)[1]
        boxes = dets[order]
        low, high = torch.maximum(boxes[:, None, :2], boxes[:, :2]), torch.minimum(boxes[:, None, 2:], boxes[:, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
        over = shared / (area[:, None] + area - shared) > iou_threshold
        kept, gone = [], 0  # sets of boxes as bits of numbers
        for i, row in enumerate(_bits(over)):
            if not gone >> i & 1:
                kept.append(i)
                gone |= row
        return order[torch.tensor(kept, dtype=torch.int64, device=order.device)]


def _bits(matrix):
    """Each row of a square matrix of truths as a number, with bit j for column j."""
    count = len(matrix)
    if count == 0:
        return ()
    padded = torch.nn.functional.pad(matrix.to(torch.uint8), (0, -count % 8)).reshape(count, -1, 8)
    weights = torch.tensor([1, 2, 4, 8, 16, 32, 64, 128], dtype=torch.uint8, device=matrix.device)
    rows = (padded * weights).sum(-1).to(torch.uint8).cpu()
    return (int.from_bytes(bytes(row.tolist()), 'little') for row in rows)


def _corners(at, size):
    """The two neighbours of coordinates (…, 2) and their weights; weights are 0 where a coordinate is 1 or more outside."""
    inside = (at > -1) & (at < size)
    low = at.detach().floor()
    index = torch.stack([low, low + 1], -1)
    weight = torch.stack([low + 1 - at, at - low], -1)
    return index.clamp(0, size - 1).to(torch.int64), torch.where(inside[..., None] & (index >= 0) & (index < size), weight, 0)


@_op(f'roi_align({_ROIS("")}, int sampling_ratio, bool aligned) -> Tensor')
def roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    """Means of bilinear samples in the bins of each region (He et al. 2017, section 3): (rois, channels, pooled_height, pooled_width)."""
    channels, height, width = input.shape[1:]
    found = input.new_zeros(len(rois), pooled_height, pooled_width, channels)
    if len(rois) == 0:
        return found.permute(0, 3, 1, 2)
    rois = rois.detach().to(torch.float32)
    start = rois[:, 1:3] * spatial_scale - (0.5 if aligned else 0)
    size = rois[:, 3:5] * spatial_scale - (0.5 if aligned else 0) - start
    bins = (size if aligned else size.clamp(min=1)) / torch.tensor([pooled_width, pooled_height], device=rois.device)
    samples = torch.full_like(bins, sampling_ratio) if sampling_ratio > 0 else bins.ceil().clamp(min=1)
    rows = input.permute(0, 2, 3, 1).reshape(-1, channels)
    for columns, lines in {tuple(each) for each in samples.to(torch.int64).tolist()}:  # regions with as many samples a bin
        chosen = ((samples[:, 0] == columns) & (samples[:, 1] == lines)).nonzero()[:, 0]
        x, at_x = _samples(start[chosen, 0], bins[chosen, 0], pooled_width, columns, width)
        y, at_y = _samples(start[chosen, 1], bins[chosen, 1], pooled_height, lines, height)
        first = (rois[chosen, 0].to(torch.int64) * height * width)[:, None, None, None, None]
        index = first + y[:, :, None, :, None] * width + x[:, None, :, None, :]
        weight = at_y[:, :, None, :, None] * at_x[:, None, :, None, :] / (columns * lines)
        found = found.index_copy(0, chosen, _weighted(rows, index, weight).reshape(-1, pooled_height, pooled_width, channels))
    return found.permute(0, 3, 1, 2)


def _samples(start, bins, count, each, size):
    """Neighbours (regions, count, 2 · each) of `each` samples in each bin, and their weights."""
    within = (torch.arange(count * each, device=start.device) + 0.5) / each
    at = start[:, None] + bins[:, None] * within
    # Up to one pixel outside counts as the edge.
    at = torch.where((at >= -1) & (at <= size), at.clamp(0, size - 1), -2.0)
    index, weight = _corners(at, size)
    return index.reshape(len(start), count, -1), weight.reshape(len(start), count, -1)


def _weighted(rows, index, weight):
    """Weighted sums of rows: index and weight have the rows of a sum in their last two dimensions."""
    index, weight = index.flatten(-2), weight.flatten(-2).to(rows.dtype)
    return torch.nn.functional.embedding_bag(index.reshape(-1, index.shape[-1]), rows, mode='sum', per_sample_weights=weight.reshape(-1, index.shape[-1]))


@_op('''deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, int stride_h, int stride_w, int pad_h, int pad_w,
    int dilation_h, int dilation_w, int groups, int offset_groups, bool use_mask) -> Tensor''')
def deform_conv2d(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups, offset_groups, use_mask):
    """A convolution whose taps are read, bilinearly, at learned offsets (Dai et al. 2017, equation 2), and scaled by a mask (Zhu et al. 2019)."""
    batch, channels, height, width = input.shape
    out, per_group, kernel_h, kernel_w = weight.shape
    lines, columns = offset.shape[-2:]
    offset = offset.reshape(batch, offset_groups, kernel_h, kernel_w, 2, lines, columns)

    def taps(count, kernel, stride, pad, dilation):
        return torch.arange(count, device=input.device) * stride - pad + torch.arange(kernel, device=input.device)[:, None] * dilation
    y, at_y = _corners(offset[:, :, :, :, 0] + taps(lines, kernel_h, stride_h, pad_h, dilation_h)[:, None, :, None], height)
    x, at_x = _corners(offset[:, :, :, :, 1] + taps(columns, kernel_w, stride_w, pad_w, dilation_w)[None, :, None, :], width)
    first = (torch.arange(batch * offset_groups, device=input.device) * height * width).reshape(batch, offset_groups, *[1] * 6)
    index = first + y[..., :, None] * width + x[..., None, :]
    share = at_y[..., :, None] * at_x[..., None, :]
    if use_mask:
        share = share * mask.reshape(batch, offset_groups, kernel_h, kernel_w, lines, columns)[..., None, None]
    rows = input.reshape(batch, offset_groups, -1, height, width).permute(0, 1, 3, 4, 2).reshape(-1, channels // offset_groups)
    read = _weighted(rows, index, share).reshape(batch, offset_groups, kernel_h * kernel_w, lines * columns, -1)
    read = read.permute(0, 1, 4, 2, 3).reshape(batch, groups, per_group * kernel_h * kernel_w, lines * columns)
    found = weight.reshape(groups, out // groups, -1) @ read
    return found.reshape(batch, out, lines, columns) + bias[:, None, None]


for _schema in _DECLARED.splitlines():
    _LIBRARY.define(_schema)
