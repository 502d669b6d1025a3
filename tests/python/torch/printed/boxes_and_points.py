"""Sets of points sampled, grouped and turned; boxes matched, suppressed and scored; maps segmented and scored."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def square_distance(src, dst):
    B, N, _ = src.shape
    _, M, _ = dst.shape
    dist = -2 * torch.matmul(src, dst.permute(0, 2, 1))
    dist += torch.sum(src**2, -1).view(B, N, 1)
    dist += torch.sum(dst**2, -1).view(B, 1, M)
    return dist


def index_points(points, idx):
    B = points.shape[0]
    vs = list(idx.shape)
    vs[1:] = [1] * (len(vs) - 1)
    rs = list(idx.shape)
    rs[0] = 1
    bi = torch.arange(B, dtype=torch.long).to(points.device).view(vs).repeat(rs)
    return points[bi, idx, :]


def fps(xyz, n):
    B, N, C = xyz.shape
    cent = torch.zeros(B, n, dtype=torch.long)
    dist = torch.ones(B, N) * 1e10
    far = torch.zeros(B, dtype=torch.long)
    bi = torch.arange(B, dtype=torch.long)
    for i in range(n):
        cent[:, i] = far
        c = xyz[bi, far, :].view(B, 1, 3)
        d = torch.sum((xyz - c) ** 2, -1)
        mask = d < dist
        dist[mask] = d[mask]
        far = torch.max(dist, -1)[1]
    return cent


def ball(r, k, xyz, new):
    B, N, C = xyz.shape
    S = new.shape[1]
    g = torch.arange(N, dtype=torch.long).view(1, 1, N).repeat([B, S, 1])
    sq = square_distance(new, xyz)
    g[sq > r**2] = N
    g = g.sort(dim=-1)[0][:, :, :k]
    first = g[:, :, 0].view(B, S, 1).repeat([1, 1, k])
    mask = g == N
    g[mask] = first[mask]
    return g


class STN(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.c = nn.Conv1d(k, 6, 1)
        self.fc = nn.Linear(6, k * k)
        self.bn = nn.BatchNorm1d(6)
        self.k = k

    def forward(self, x):
        x = F.relu(self.bn(self.c(x)))
        x = torch.max(x, 2, keepdim=True)[0]
        x = x.view(-1, 6)
        iden = torch.eye(self.k).flatten().view(1, -1).repeat(x.size(0), 1)
        return (self.fc(x) + iden).view(-1, self.k, self.k)


xyz = torch.sin(torch.arange(2 * 12 * 3) * 1.9).view(2, 12, 3)
idx = fps(xyz, 4)
new = index_points(xyz, idx)
g = ball(0.9, 3, xyz, new)
print(idx, g, index_points(xyz, g).shape, (index_points(xyz, g) - new.unsqueeze(2)).max(2)[0][0])
s = STN()
[p.data.copy_(torch.cos(torch.arange(p.numel()) * 1.3 + i).view(p.shape) * 0.4) for i, p in enumerate(s.parameters())]
T = s(xyz.transpose(2, 1))
y = torch.bmm(xyz, T)
reg = torch.mean(torch.norm(torch.bmm(T, T.transpose(2, 1)) - torch.eye(3)[None, :, :], dim=(1, 2)))
(y.pow(2).mean() + 0.001 * reg).backward()
print(T[0], reg, s.c.weight.grad.squeeze(-1)[0])
inner = -2 * torch.matmul(xyz, xyz.transpose(2, 1))
xx = torch.sum(xyz.transpose(2, 1) ** 2, dim=1, keepdim=True)
knn = (-xx - inner - xx.transpose(2, 1)).topk(k=3, dim=-1)[1]
print(knn[0, :4])
d = torch.cdist(xyz, xyz[:, :5])
print(d.min(2)[0].mean() + d.min(1).values.mean(), torch.cdist(xyz[0], xyz[1], p=1)[0, :3], d.argmin(-1)[0])
dist, ix = square_distance(xyz, new).sort(dim=-1)
dr = 1.0 / (dist[:, :, :3] + 1e-8)
w = dr / torch.sum(dr, dim=2, keepdim=True)
print(torch.sum(index_points(new, ix[:, :, :3]) * w.view(2, 12, 3, 1), dim=2)[0, 1])
# rotations, Kabsch, quaternions, Rodrigues, 6D
v = torch.tensor([0.1, -0.4, 0.7])
th = v.norm()
K = torch.zeros(3, 3)
K[0, 1], K[0, 2], K[1, 0], K[1, 2], K[2, 0], K[2, 1] = -v[2], v[1], v[2], -v[0], -v[1], v[0]
K /= th
R = torch.eye(3) + torch.sin(th) * K + (1 - torch.cos(th)) * K @ K
print(R, R.det(), torch.matrix_exp(K * th).allclose(R, atol=1e-5), torch.acos(((torch.trace(R) - 1) / 2).clamp(-1, 1)))
A = xyz[0] - xyz[0].mean(0)
Bm = A @ R.T
U, S, Vt = torch.linalg.svd(A.T @ Bm)
D = torch.diag(torch.tensor([1.0, 1.0, torch.sign(torch.det(Vt.T @ U.T))]))
print((Vt.T @ D @ U.T).allclose(R, atol=1e-4))
q = F.normalize(torch.tensor([0.5, 0.1, -0.2, 0.8]), dim=0)
r, i, j, k = torch.unbind(q, -1)
two = 2.0 / (q * q).sum(-1)
print(torch.stack((1 - two * (j * j + k * k), two * (i * j - k * r), two * (i * k + j * r)), -1))
a1, a2 = torch.tensor([1.0, 2.0, 0.3]), torch.tensor([0.2, -1.0, 1.0])
b1 = F.normalize(a1, dim=-1)
b2 = F.normalize(a2 - (b1 * a2).sum(-1, keepdim=True) * b1, dim=-1)
print(torch.stack((b1, b2, torch.cross(b1, b2, dim=-1)), dim=-2), torch.linalg.cross(b1, b2))


# detection: IoU, NMS, anchors, focal and GIoU
def box_area(b):
    return (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])


def box_iou(a, b):
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    return inter / (box_area(a)[:, None] + box_area(b) - inter)


def nms(b, s, t):
    keep = []
    o = s.argsort(descending=True)
    while o.numel() > 0:
        i = o[0].item()
        keep.append(i)
        if o.numel() == 1:
            break
        iou = box_iou(b[i][None], b[o[1:]]).squeeze(0)
        o = o[1:][(iou <= t).nonzero().squeeze(1)]
    return torch.LongTensor(keep)


b = torch.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 5, 5]])
sc = torch.tensor([0.9, 0.8, 0.7, 0.95])
print(box_iou(b, b), nms(b, sc, 0.5))
gx, gy = torch.meshgrid(torch.arange(2), torch.arange(2), indexing='xy')
sx = torch.stack((gx.reshape(-1), gy.reshape(-1), gx.reshape(-1), gy.reshape(-1)), dim=1) * 8
base = torch.stack([-torch.tensor([4.0, 8]), -torch.tensor([8.0, 4]), torch.tensor([4.0, 8]), torch.tensor([8.0, 4])], 1).div(2).round()
print((sx.view(-1, 1, 4) + base.view(1, -1, 4)).reshape(-1, 4)[:5])
m = box_iou(b[:2], b)
best, ids = m.max(dim=0)
ids[best < 0.3] = -1
ids[(best >= 0.3) & (best < 0.7)] = -2
print(ids, torch.where(ids >= 0)[0], m.max(1)[0][:, None] == m)
cx = (b[:, :2] + b[:, 2:]) / 2
print(torch.cat([cx, b[:, 2:] - b[:, :2]], 1).unbind(-1)[0], torch.stack(b.split(2, 1)).mean(0))
p = torch.tensor([[0.2, -1.0], [3.0, 0.1]], requires_grad=True)
t = torch.tensor([[1.0, 0], [0, 1]])
ce = F.binary_cross_entropy_with_logits(p, t, reduction="none")
pt = p.sigmoid() * t + (1 - p.sigmoid()) * (1 - t)
fl = ((0.25 * t + 0.75 * (1 - t)) * ce * (1 - pt) ** 2).sum()
fl.backward()
print(fl, p.grad)
# segmentation metrics
lg = torch.sin(torch.arange(2 * 3 * 16.0)).view(2, 3, 4, 4)
lb = (torch.arange(32) % 3).view(2, 4, 4)
lb[0, 0, 0] = 255
print(
    F.cross_entropy(lg, lb, ignore_index=255, weight=torch.tensor([0.5, 1.0, 2.0])),
    nn.NLLLoss(ignore_index=255, reduction='none')(F.log_softmax(lg, 1), lb)[0, 0],
)
pr = lg.argmax(1)
k = (lb >= 0) & (lb < 3)
cm = torch.bincount(3 * lb[k] + pr[k], minlength=9).reshape(3, 3)
print(cm, torch.diag(cm) / (cm.sum(1) + cm.sum(0) - torch.diag(cm)), (pr == lb).float().mean())
oh = F.one_hot(lb.clamp(max=2), 3).permute(0, 3, 1, 2).float()
sm = lg.softmax(1)
print(
    1 - (2 * (sm * oh).sum((0, 2, 3)) + 1) / (sm.sum(dim=(0, 2, 3)) + oh.sum(dim=[0, 2, 3]) + 1),
    F.interpolate(lg, size=(6, 6), mode='bilinear', align_corners=False)[0, 0, 0],
    F.interpolate(lb[:, None].float(), scale_factor=0.5, mode='nearest').long()[0, 0],
    F.interpolate(lg, scale_factor=2, mode='bicubic', antialias=False)[0, 0, 0, :4],
    F.adaptive_avg_pool2d(lg, (3, 2))[0, 0],
    F.avg_pool2d(lg, 3, stride=1, padding=1, divisor_override=4)[0, 0, 0],
    F.max_pool2d(lg, 2, return_indices=True)[1][0, 0],
    F.unfold(lg, 3, dilation=1, padding=1, stride=2).shape,
)
