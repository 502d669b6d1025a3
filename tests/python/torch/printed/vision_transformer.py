"""A vision transformer with layer-wise rates, one-cycle schedule, moving average, checkpointing and mixed targets."""
from collections import OrderedDict
from functools import partial
from typing import Callable, List, Optional, Union

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.checkpoint import checkpoint


def to_2tuple(x):
    return x if isinstance(x, tuple) else (x, x)


def drop_path(x, drop_prob: float = 0., training: bool = False, scale_by_keep: bool = True):
    if drop_prob == 0. or not training:
        return x
    keep_prob = 1 - drop_prob
    shape = (x.shape[0],) + (1,) * (x.ndim - 1)
    random_tensor = x.new_empty(shape).bernoulli_(keep_prob)
    if keep_prob > 0.0 and scale_by_keep:
        random_tensor.div_(keep_prob)
    return x * random_tensor


class DropPath(nn.Module):
    def __init__(self, drop_prob: Optional[float] = None):
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x):
        return drop_path(x, self.drop_prob or 0., self.training)

    def extra_repr(self):
        return f'drop_prob={round(self.drop_prob, 3):0.3f}'


class PatchEmbed(nn.Module):
    def __init__(self, img_size=16, patch_size=4, in_chans=3, embed_dim=32, norm_layer=None, flatten=True, bias=True):
        super().__init__()
        self.img_size, self.patch_size = to_2tuple(img_size), to_2tuple(patch_size)
        self.grid_size = tuple(s // p for s, p in zip(self.img_size, self.patch_size))
        self.num_patches = self.grid_size[0] * self.grid_size[1]
        self.flatten = flatten
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size, bias=bias)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def forward(self, x):
        B, C, H, W = x.shape
        torch._assert(self.img_size[0] == H, f"Input image height ({H}) doesn't match model ({self.img_size[0]}).")
        x = self.proj(x)
        if self.flatten:
            x = x.flatten(2).transpose(1, 2)
        return self.norm(x)


class Attention(nn.Module):
    fused_attn: bool

    def __init__(self, dim, num_heads=4, qkv_bias=False, qk_norm=False, attn_drop=0., proj_drop=0., norm_layer: Callable = nn.LayerNorm, fused=True):
        super().__init__()
        assert dim % num_heads == 0
        self.num_heads, self.head_dim = num_heads, dim // num_heads
        self.scale = self.head_dim ** -0.5
        self.fused_attn = fused
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.q_norm = norm_layer(self.head_dim) if qk_norm else nn.Identity()
        self.k_norm = norm_layer(self.head_dim) if qk_norm else nn.Identity()
        self.attn_drop = nn.Dropout(attn_drop)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x: Tensor) -> Tensor:
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        q, k = self.q_norm(q), self.k_norm(k)
        if self.fused_attn:
            x = F.scaled_dot_product_attention(q, k, v, dropout_p=self.attn_drop.p if self.training else 0.)
        else:
            q = q * self.scale
            attn = q @ k.transpose(-2, -1)
            attn = attn.softmax(dim=-1)
            attn = self.attn_drop(attn)
            x = attn @ v
        x = x.transpose(1, 2).reshape(B, N, C)
        return self.proj_drop(self.proj(x))


class LayerScale(nn.Module):
    def __init__(self, dim, init_values=1e-1, inplace=False):
        super().__init__()
        self.inplace = inplace
        self.gamma = nn.Parameter(init_values * torch.ones(dim))

    def forward(self, x):
        return x.mul_(self.gamma) if self.inplace else x * self.gamma


class Mlp(nn.Module):
    def __init__(self, in_features, hidden_features=None, out_features=None, act_layer=nn.GELU, drop=0.):
        super().__init__()
        out_features = out_features or in_features
        hidden_features = hidden_features or in_features
        self.fc1 = nn.Linear(in_features, hidden_features)
        self.act = act_layer()
        self.fc2 = nn.Linear(hidden_features, out_features)

    def forward(self, x):
        return self.fc2(self.act(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, dim, num_heads, mlp_ratio=2., qkv_bias=True, qk_norm=False, init_values=0.1, drop_path=0., fused=True):
        super().__init__()
        norm_layer = partial(nn.LayerNorm, eps=1e-6)
        self.norm1 = norm_layer(dim)
        self.attn = Attention(dim, num_heads, qkv_bias, qk_norm, norm_layer=norm_layer, fused=fused)
        self.ls1 = LayerScale(dim, init_values) if init_values else nn.Identity()
        self.drop_path1 = DropPath(drop_path) if drop_path > 0. else nn.Identity()
        self.norm2 = norm_layer(dim)
        self.mlp = Mlp(dim, int(dim * mlp_ratio))
        self.ls2 = LayerScale(dim, init_values, inplace=True)

    def forward(self, x):
        x = x + self.drop_path1(self.ls1(self.attn(self.norm1(x))))
        return x + self.ls2(self.mlp(self.norm2(x)))


class VisionTransformer(nn.Module):
    def __init__(self, img_size=16, patch_size=4, embed_dim=32, depth=3, num_heads=4, num_classes=5, global_pool='token', reg_tokens=1):
        super().__init__()
        self.grad_checkpointing = False
        self.patch_embed = PatchEmbed(img_size, patch_size, 3, embed_dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        self.reg_token = nn.Parameter(torch.zeros(1, reg_tokens, embed_dim)) if reg_tokens else None
        self.num_prefix_tokens = 1 + reg_tokens
        self.pos_embed = nn.Parameter(torch.randn(1, self.patch_embed.num_patches, embed_dim) * .02)
        dpr = [x.item() for x in torch.linspace(0, 0., depth)]
        self.blocks = nn.Sequential(*[Block(embed_dim, num_heads, drop_path=dpr[i], qk_norm=i == 1, fused=i != 2) for i in range(depth)])
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, num_classes) if num_classes > 0 else nn.Identity()
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.trunc_normal_(m.weight, std=.02)
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, (nn.LayerNorm,)):
            nn.init.constant_(m.bias, 0)
            nn.init.constant_(m.weight, 1.0)

    def no_weight_decay(self):
        return {'pos_embed', 'cls_token', 'reg_token'}

    def _pos_embed(self, x):
        x = x + self.pos_embed
        return torch.cat([self.cls_token.expand(x.shape[0], -1, -1), self.reg_token.expand(x.shape[0], -1, -1), x], dim=1)

    def get_intermediate_layers(self, x, n: Union[int, List[int]] = 1, reshape=False, norm=False):
        take = set(range(len(self.blocks) - n, len(self.blocks)) if isinstance(n, int) else n)
        outputs = []
        x = self._pos_embed(self.patch_embed(x))
        for i, blk in enumerate(self.blocks):
            x = blk(x)
            if i in take:
                outputs.append(x)
        outputs = [self.norm(o) for o in outputs] if norm else outputs
        outputs = [o[:, self.num_prefix_tokens:] for o in outputs]
        if reshape:
            g = self.patch_embed.grid_size
            outputs = [o.reshape(o.shape[0], g[0], g[1], -1).permute(0, 3, 1, 2).contiguous() for o in outputs]
        return tuple(outputs)

    def forward(self, x):
        x = self._pos_embed(self.patch_embed(x))
        if self.grad_checkpointing and not torch.jit.is_scripting():
            for blk in self.blocks:
                x = checkpoint(blk, x, use_reentrant=False)
        else:
            x = self.blocks(x)
        return self.head(self.norm(x)[:, 0])


def fill(m):
    with torch.no_grad():
        for k, p in enumerate(m.parameters()):
            p.add_((torch.arange(p.numel(), dtype=torch.float32) * 12.9898 + 78.233 * k).sin().reshape(p.shape) * 0.1 - (p if p.abs().max() < 0.2 else 0))


def param_groups_layer_decay(model, weight_decay=0.05, no_weight_decay_list=(), layer_decay=.75):
    groups = OrderedDict()
    scales = [layer_decay ** (len(model.blocks) + 1 - i) for i in range(len(model.blocks) + 2)]
    for name, param in model.named_parameters():
        if not param.requires_grad:
            continue
        decay = 0. if param.ndim == 1 or name in no_weight_decay_list else weight_decay
        layer = 0 if name.startswith(('patch_embed', 'pos_embed', 'cls', 'reg')) else int(name.split('.')[1]) + 1 if name.startswith('blocks') else len(scales) - 1
        g = groups.setdefault((layer, decay), {'lr_scale': scales[layer], 'weight_decay': decay, 'params': []})
        g['params'].append(param)
    return list(groups.values())


def rescale(images, size):
    return F.interpolate(images, size=size, mode='bicubic', antialias=False, align_corners=False)


def mixup(x, target, lam, num_classes, smoothing=0.1):
    off, on = smoothing / num_classes, 1. - smoothing + smoothing / num_classes
    y1 = torch.full((x.size(0), num_classes), off).scatter_(1, target.long().view(-1, 1), on)
    y2 = torch.full((x.size(0), num_classes), off).scatter_(1, target.flip(0).long().view(-1, 1), on)
    return x * lam + x.flip(0).mul(1. - lam), y1 * lam + y2 * (1. - lam)


class SoftTargetCrossEntropy(nn.Module):
    def forward(self, x, target):
        return torch.sum(-target * F.log_softmax(x, dim=-1), dim=-1).mean()


def main():
    torch.manual_seed(0)
    model = VisionTransformer()
    fill(model)
    print(sum(p.numel() for p in model.parameters() if p.requires_grad), sum(b.numel() for b in model.buffers()))
    x = (torch.arange(8 * 3 * 12 * 12, dtype=torch.float32) * 0.37).sin().view(8, 3, 12, 12)
    x = rescale(x, (16, 16))
    y = torch.arange(8) % 5
    groups = param_groups_layer_decay(model, no_weight_decay_list=model.no_weight_decay())
    for g in groups:
        g['lr'] = 2e-3 * g.pop('lr_scale')
    optimizer = torch.optim.AdamW(groups, lr=2e-3, betas=(0.9, 0.999), eps=1e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=[g['lr'] * 2 for g in optimizer.param_groups], total_steps=8, pct_start=0.3)
    scaler = torch.amp.GradScaler('cpu', enabled=False, init_scale=2.**10, growth_interval=3)
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    criterion = SoftTargetCrossEntropy()
    for step in range(8):
        model.train()
        model.grad_checkpointing = step % 2 == 1
        xb, yb = mixup(x, y, 0.7, 5)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type='cpu', dtype=torch.bfloat16, enabled=False):
            out = model(xb)
            loss = criterion(out, yb)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
        ema.update_parameters(model)
        print(step, f'{loss.item():.4f}', f'{scaler.get_scale()}', f'{scheduler.get_last_lr()[0]:.6f}', out.dtype, loss.dtype)
        print(f'{norm.item():.4f}')
    model.eval()
    with torch.inference_mode():
        feats = model.get_intermediate_layers(x, n=2, reshape=True, norm=True)
        print([tuple(f.shape) for f in feats], [f.is_contiguous() for f in feats], f'{feats[0].float().std().item():.2f}')
        pred, cls = ema.module(x).softmax(-1).topk(2)
        print(pred.shape, cls.dtype, f'{pred.sum().item():.2f}')
    print(model.blocks[1])
    acc = (model(x).argmax(1) == y).float().mean()
    print(acc.dtype, f'{len(list(ema.parameters()))} {ema.n_averaged}')


main()
