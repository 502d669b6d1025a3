"""A detector of boxes on a pyramid of features: anchors, matching, box regression, suppression of doubles and crops of features."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def areas(boxes):
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def box_iou(a, b):
    lt, rb = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    return inter / (areas(a)[:, None] + areas(b) - inter)


def nms(boxes, scores, threshold):
    order, keep = scores.argsort(descending=True, stable=True), []
    while order.numel() > 0:
        keep.append(order[0])
        order = order[1:][box_iou(boxes[order[0]][None], boxes[order[1:]])[0] <= threshold]
    return torch.stack(keep)


def anchors(features, stride, scales=(16, 32), ratios=(0.5, 1.0, 2.0)):
    scales, ratios = torch.as_tensor(scales, dtype=torch.float32), torch.as_tensor(ratios, device=features.device)
    h = torch.sqrt(ratios)
    ws, hs = ((1 / h)[:, None] * scales[None, :]).view(-1), (h[:, None] * scales[None, :]).view(-1)
    base = (torch.stack([-ws, -hs, ws, hs], dim=1) / 2).round()
    y, x = torch.meshgrid(*(torch.arange(n, dtype=torch.int32) * stride for n in features.shape[-2:]), indexing='ij')
    shifts = torch.stack((x.reshape(-1), y.reshape(-1), x.reshape(-1), y.reshape(-1)), dim=1)
    return (shifts.view(-1, 1, 4) + base.view(1, -1, 4)).reshape(-1, 4)


def encode(truth, boxes):
    size, center = boxes[:, 2:] - boxes[:, :2], (boxes[:, 2:] + boxes[:, :2]) / 2
    return torch.cat([((truth[:, 2:] + truth[:, :2]) / 2 - center) / size, torch.log((truth[:, 2:] - truth[:, :2]) / size)], 1)


def decode(deltas, boxes):
    size, center = boxes[:, 2:] - boxes[:, :2], (boxes[:, 2:] + boxes[:, :2]) / 2
    center, half = center + deltas[:, :2] * size, torch.exp(deltas[:, 2:].clamp(max=4.0)) * size / 2
    return torch.cat([center - half, center + half], 1)


def match(quality, low=0.3, high=0.7):
    """The true box of each anchor; -1: none, -2: neither."""
    value, found = quality.max(dim=0)
    every = found.clone()
    found[value < low] = -1
    found[(value >= low) & (value < high)] = -2
    best = torch.where(quality == quality.max(dim=1)[0][:, None])[1]
    found[best] = every[best]
    return found


def focal(logits, targets, alpha=0.25, gamma=2):
    p = torch.sigmoid(logits)
    loss = F.binary_cross_entropy_with_logits(logits, targets, reduction='none') * (1 - (p * targets + (1 - p) * (1 - targets))) ** gamma
    return ((alpha * targets + (1 - alpha) * (1 - targets)) * loss).sum()


def crops(features, boxes, size, scale):
    steps = torch.linspace(0, 1, 2 * size + 1)[1::2]
    x, y = (boxes[:, d, None] * scale + steps * (boxes[:, d + 2] - boxes[:, d])[:, None] * scale for d in range(2))
    h, w = features.shape[-2:]
    grid = torch.stack(torch.broadcast_tensors((x * 2 / w - 1)[:, None, :], (y * 2 / h - 1)[:, :, None]), -1)
    return F.grid_sample(features.expand(len(boxes), -1, -1, -1), grid, align_corners=False)


class FrozenBatchNorm2d(nn.Module):
    def __init__(self, n):
        super().__init__()
        for name, value in (('weight', 1.0), ('bias', 0.0), ('running_mean', 0.0), ('running_var', 1.0)):
            self.register_buffer(name, torch.full((n,), value))

    def _load_from_state_dict(self, state_dict, prefix, *args):
        state_dict.pop(prefix + 'num_batches_tracked', None)
        super()._load_from_state_dict(state_dict, prefix, *args)

    def forward(self, x):
        w, b, rv, rm = (each.reshape(1, -1, 1, 1) for each in (self.weight, self.bias, self.running_var, self.running_mean))
        scale = w * (rv + 1e-5).rsqrt()
        return x * scale + (b - rm * scale)


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.ModuleList([nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 2, 1)])
        self.bn, self.lateral, self.out = FrozenBatchNorm2d(8), nn.ModuleList(nn.Conv2d(16, 8, 1) for _ in range(2)), nn.Conv2d(8, 8, 3, padding=1)
        self.cls, self.reg = nn.Conv2d(8, 6, 1), nn.Conv2d(8, 24, 1)

    def forward(self, x):
        middle = F.relu(self.body[1](F.relu_(self.bn(self.body[0](x)))))
        top = self.lateral[1](F.relu(self.body[2](middle)))
        features = self.out(self.lateral[0](middle) + F.interpolate(top, size=middle.shape[-2:], mode='nearest'))
        n = x.shape[0]
        logits = self.cls(features).permute(0, 2, 3, 1).reshape(n, -1)
        return features, logits, self.reg(features).permute(0, 2, 3, 1).reshape(n, -1, 4)


def main():
    rng = np.random.default_rng(0)
    model = Pyramid()
    given = {**model.state_dict(), **{f'bn.{key}': value for key, value in nn.BatchNorm2d(8).state_dict().items()}}
    matched = str(model.load_state_dict(given))
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.normal(0, 0.1, tuple(p.shape)).astype('f')))
    image = torch.from_numpy(rng.normal(size=(1, 3, 64, 64)).astype('f'))
    truth = torch.tensor([[4.0, 4.0, 30.0, 34.0], [20.0, 10.0, 60.0, 50.0]])
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, nesterov=True, weight_decay=1e-4), []
    for _ in range(12):
        features, logits, deltas = model(image)
        boxes = anchors(features, 4)
        found = match(box_iou(truth, boxes))
        positive, counted = torch.where(found >= 0)[0], torch.nonzero(found > -2).squeeze(1)
        targets = encode(truth[found.clamp(min=0)], boxes)
        loss = focal(logits[0, counted], (found[counted] >= 0).float()) / len(positive)
        loss = loss + F.smooth_l1_loss(deltas[0, positive], targets[positive], beta=1 / 9, reduction='sum') / len(positive)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    kept = decode(deltas[0].detach(), boxes).clamp(0, 64)
    chosen = nms(kept, logits[0].detach(), 0.5)
    return losses, [matched == '<All keys matched successfully>', chosen.tolist(), (kept[chosen] / 64).tolist(), crops(features, truth, 5, 0.25).tolist()]
