"""CLIP: contrastive loss of images and texts, learned temperature, EOT pooling, causal mask by buffers, zero-shot."""
import numpy as np
import torch


def numpy_init(model, seed=0, scale=0.2):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-scale, scale, tuple(p.shape))).to(p.dtype))
    return model


from collections import OrderedDict
import torch.nn as nn
import torch.nn.functional as F


class LayerNorm(nn.LayerNorm):
    def forward(self, x: torch.Tensor):
        orig_type = x.dtype
        ret = super().forward(x.type(torch.float32))
        return ret.type(orig_type)


class QuickGELU(nn.Module):
    def forward(self, x: torch.Tensor):
        return x * torch.sigmoid(1.702 * x)


class ResidualAttentionBlock(nn.Module):
    def __init__(self, d_model: int, n_head: int, attn_mask: torch.Tensor = None):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, n_head)
        self.ln_1 = LayerNorm(d_model)
        self.mlp = nn.Sequential(OrderedDict([('c_fc', nn.Linear(d_model, d_model * 4)), ('gelu', QuickGELU()), ('c_proj', nn.Linear(d_model * 4, d_model))]))
        self.ln_2 = LayerNorm(d_model)
        self.attn_mask = attn_mask

    def attention(self, x: torch.Tensor):
        self.attn_mask = self.attn_mask.to(dtype=x.dtype, device=x.device) if self.attn_mask is not None else None
        return self.attn(x, x, x, need_weights=False, attn_mask=self.attn_mask)[0]

    def forward(self, x: torch.Tensor):
        x = x + self.attention(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


class VisionTransformer(nn.Module):
    def __init__(self, input_resolution, patch_size, width, layers, heads, output_dim):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels=3, out_channels=width, kernel_size=patch_size, stride=patch_size, bias=False)
        scale = width ** -0.5
        self.class_embedding = nn.Parameter(scale * torch.randn(width))
        self.positional_embedding = nn.Parameter(scale * torch.randn((input_resolution // patch_size) ** 2 + 1, width))
        self.ln_pre = LayerNorm(width)
        self.transformer = nn.Sequential(*[ResidualAttentionBlock(width, heads) for _ in range(layers)])
        self.ln_post = LayerNorm(width)
        self.proj = nn.Parameter(scale * torch.randn(width, output_dim))

    def forward(self, x):
        x = self.conv1(x)
        x = x.reshape(x.shape[0], x.shape[1], -1)
        x = x.permute(0, 2, 1)
        x = torch.cat([self.class_embedding.to(x.dtype) + torch.zeros(x.shape[0], 1, x.shape[-1], dtype=x.dtype, device=x.device), x], dim=1)
        x = x + self.positional_embedding.to(x.dtype)
        x = self.ln_pre(x).permute(1, 0, 2)
        x = self.transformer(x).permute(1, 0, 2)
        x = self.ln_post(x[:, 0, :])
        if self.proj is not None:
            x = x @ self.proj
        return x


class CLIP(nn.Module):
    def __init__(self, embed_dim=8, context_length=6, vocab_size=12, width=8):
        super().__init__()
        self.context_length = context_length
        self.visual = VisionTransformer(8, 4, width, 1, 2, embed_dim)
        self.transformer = nn.Sequential(*[ResidualAttentionBlock(width, 2, self.build_attention_mask()) for _ in range(1)])
        self.token_embedding = nn.Embedding(vocab_size, width)
        self.positional_embedding = nn.Parameter(torch.empty(context_length, width))
        self.ln_final = LayerNorm(width)
        self.text_projection = nn.Parameter(torch.empty(width, embed_dim))
        self.logit_scale = nn.Parameter(torch.ones([]) * np.log(1 / 0.07))
        nn.init.normal_(self.token_embedding.weight, std=0.02)
        nn.init.normal_(self.positional_embedding, std=0.01)
        nn.init.normal_(self.text_projection, std=width ** -0.5)

    def build_attention_mask(self):
        mask = torch.empty(self.context_length, self.context_length)
        mask.fill_(float('-inf'))
        mask.triu_(1)
        return mask

    @property
    def dtype(self):
        return self.visual.conv1.weight.dtype

    def encode_image(self, image):
        return self.visual(image.type(self.dtype))

    def encode_text(self, text):
        x = self.token_embedding(text).type(self.dtype)
        x = x + self.positional_embedding.type(self.dtype)
        x = self.transformer(x.permute(1, 0, 2)).permute(1, 0, 2)
        x = self.ln_final(x).type(self.dtype)
        return x[torch.arange(x.shape[0]), text.argmax(dim=-1)] @ self.text_projection

    def forward(self, image, text):
        image_features, text_features = self.encode_image(image), self.encode_text(text)
        image_features = image_features / image_features.norm(dim=1, keepdim=True)
        text_features = text_features / text_features.norm(dim=1, keepdim=True)
        logit_scale = self.logit_scale.exp()
        logits_per_image = logit_scale * image_features @ text_features.t()
        return logits_per_image, logits_per_image.t()


model = numpy_init(CLIP(), 2, 0.4)
print(model.logit_scale, model.dtype)
with torch.no_grad():
    model.logit_scale.fill_(np.log(1 / 0.07))
print(model.logit_scale, model.logit_scale.item())
rng = np.random.default_rng(0)
images = torch.from_numpy(rng.normal(size=(4, 3, 8, 8)).astype(np.float32))
texts = torch.tensor(rng.integers(0, 11, (4, 6)))
texts[torch.arange(4), torch.tensor([2, 3, 5, 4])] = 11
no_decay = [p for n, p in model.named_parameters() if p.ndim < 2 or 'bn' in n or 'ln' in n or 'bias' in n or 'logit_scale' in n]
decay = [p for n, p in model.named_parameters() if not (p.ndim < 2 or 'bn' in n or 'ln' in n or 'bias' in n or 'logit_scale' in n)]
optimizer = torch.optim.AdamW([{'params': no_decay, 'weight_decay': 0.}, {'params': decay, 'weight_decay': 0.2}], lr=5e-3, betas=(0.9, 0.98), eps=1e-6)
print(len(no_decay), len(decay))
for step in range(5):
    li, lt = model(images, texts)
    labels = torch.arange(li.shape[0], device=li.device, dtype=torch.long)
    loss = (F.cross_entropy(li, labels) + F.cross_entropy(lt, labels)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        model.logit_scale.clamp_(0, np.log(100))
    print(step, loss.item(), model.logit_scale.grad.item(), model.logit_scale.data)
with torch.no_grad():
    probs = model(images, texts)[0].softmax(dim=-1).cpu().numpy()
    print('Label probs:', probs.round(3).argmax(1), probs.dtype, probs.shape)
    values, indices = (100.0 * model.encode_image(images)[0] @ model.encode_text(texts).T).softmax(-1).topk(3)
    for v, i in zip(values, indices):
        print(f'{i.item():>4d}: {100 * v.item():.2f}%')


def siglip(image_features, text_features, logit_scale, logit_bias):
    logits = logit_scale * image_features @ text_features.T + logit_bias
    labels = 2 * torch.eye(len(logits), dtype=logits.dtype) - torch.ones_like(logits)
    return -F.logsigmoid(labels * logits).sum() / len(logits)


a = torch.from_numpy(rng.normal(size=(3, 4))).requires_grad_()
b = torch.from_numpy(rng.normal(size=(3, 4)))
t, bias = torch.tensor(10.0, dtype=torch.float64, requires_grad=True), torch.tensor(-10.0, requires_grad=True)
l = siglip(F.normalize(a), F.normalize(b), t, bias)
l.backward()
print(l, a.grad, t.grad, bias.grad)
q = F.normalize(a.detach().float(), dim=-1)
queue = F.normalize(torch.from_numpy(rng.normal(size=(4, 5))).float(), dim=0)
l_pos = torch.einsum('nc,nc->n', [q, q.flip(0)]).unsqueeze(-1)
l_neg = torch.einsum('nc,ck->nk', [q, queue.clone().detach()])
print(F.cross_entropy(torch.cat([l_pos, l_neg], dim=1) / 0.07, torch.zeros(3, dtype=torch.long)))
