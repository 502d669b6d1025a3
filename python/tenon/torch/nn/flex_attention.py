"""torch.nn.attention.flex_attention: attention whose scores and mask are functions of the program, computed op by op."""
import inspect
import itertools
import math
from typing import Any, NamedTuple

from ..._core import Tensor, bool as boolean, float32, float64, int32, ops
from ...autograd import no_grad
from .._common import arange, cast, full
from ..func import vmap
from ..reduce import all as every
from ..reduce import logsumexp
from ..shape import repeat_interleave
from ..statistics import argsort

__all__ = ['AuxOutput', 'AuxRequest', 'BlockMask', 'and_masks', 'create_block_mask', 'create_mask', 'flex_attention', 'noop_mask', 'or_masks']
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """What flex_attention() gives beside its result: lse, max_scores."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by an AuxRequest; otherwise None."""

    lse: Any = None
    max_scores: Any = None


def noop_mask(batch, head, token_q, token_kv):
    """The mask that shows everything."""
    return ops['full']((), True, boolean, batch.device)


def _combined(name, op, mask_mods):
    if not all(callable(each) for each in mask_mods):
        raise RuntimeError(f'[{name}] all inputs should be callable mask_mods: {mask_mods}')

    def mask(b, h, q_idx, kv_idx):
        found = ops['full']((), op == 'logical_and', boolean, b.device)
        for each in mask_mods:
            found = ops[op](found, each(b, h, q_idx, kv_idx))
        return found
    return mask


def and_masks(*mask_mods):
    """The mask that shows what all of them show."""
    return _combined('and_masks', 'logical_and', mask_mods)


def or_masks(*mask_mods):
    """The mask that shows what any of them shows."""
    return _combined('or_masks', 'logical_or', mask_mods)


def _everywhere(function, sizes, x, score=None):
    """The function of four indices, and of a score before them, at all places of (B, H, Q, KV)."""
    places = [arange(n, x, int32) for n in sizes]
    with_score = score is not None
    for at in (3, 2, 1, 0):
        dims: Any = (*((0,) if with_score else ()), *(0 if i == at else None for i in range(4)))
        function = vmap(function, dims, randomness='different')
    return function(score, *places) if with_score else function(*places)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """(B, H, Q_LEN, KV_LEN): where mask_mod(b, h, q, kv) is true, or score_mod(score, b, h, q, kv) above -inf. B, H: None is 1."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    like = ops['full']((), 0.0, float32, device)
    if len(inspect.signature(mod_fn).parameters) == 5:
        return ops['ne'](_everywhere(mod_fn, sizes, like, full(sizes, 0.0, like)), -math.inf)
    return ops['expand'](cast(_everywhere(mod_fn, sizes, like), boolean), sizes)


def _ordered(blocks):
    """(the number of blocks in each row, their positions first, in int32)."""
    return cast(ops['sum'](blocks, (-1,)), int32), cast(argsort(blocks, dim=-1, descending=True, stable=True), int32)


def _dense(counts, indices):
    """Where a row has a block: the first `counts` of its indices, which may be fewer than all."""
    there = cast(ops['less'](arange(indices.shape[-1], indices, int32), ops['unsqueeze'](counts, -1)), int32)
    return ops['scatter_add'](full(tuple(indices.shape), 0, indices, int32), -1, indices.long(), there)


class BlockMask:
    """Which blocks of queries and keys a mask shows in part (kv_indices) or whole (full_kv_indices), and the mask within them."""

    def __init__(self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, q_num_blocks=None,
                 q_indices=None, full_q_num_blocks=None, full_q_indices=None, BLOCK_SIZE=(128, 128), mask_mod=noop_mask):
        if kv_indices.ndim < 2:
            raise RuntimeError(f'[BlockMask] kv_indices has rank {kv_indices.ndim}, must be 2 at least')
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = tuple(seq_lengths), tuple(BLOCK_SIZE), mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, mask_mod=None,
                       seq_lengths=None, compute_q_blocks=True):
        """The mask of the blocks of keys that each block of queries sees."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError('[BlockMask] full_kv_num_blocks and full_kv_indices must be both provided or omitted')

        def turned(counts, indices):
            return _ordered(ops['transpose'](_dense(counts, indices), -2, -1)) if compute_q_blocks and counts is not None else (None, None)
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]
        return cls(seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *turned(kv_num_blocks, kv_indices),
                   *turned(full_kv_num_blocks, full_kv_indices), size, noop_mask if mask_mod is None else mask_mod)

    @property
    def shape(self):
        """(B, H, Q_LEN, KV_LEN)"""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """The number of elements of the mask."""
        return math.prod(self.shape)

    def to_dense(self):
        """(B, H, blocks of queries, blocks of keys) in int32: 1 where something of the block is shown."""
        found = _dense(self.kv_num_blocks, self.kv_indices)
        return found if self.full_kv_num_blocks is None else found + _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def sparsity(self):
        """The share of blocks of which nothing is shown, in percent."""
        dense = self.to_dense()
        return 100 * (1 - int(ops['sum'](dense)) / dense.numel())

    def to(self, device):
        """The mask on another device."""
        def moved(x):
            return x.to(device) if isinstance(x, Tensor) else x
        names = ('kv_num_blocks', 'kv_indices', 'full_kv_num_blocks', 'full_kv_indices', 'q_num_blocks', 'q_indices', 'full_q_num_blocks',
                 'full_q_indices')
        return BlockMask(self.seq_lengths, **{name: moved(getattr(self, name)) for name in names}, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)

    def to_string(self, grid_size=(20, 20), limit=4):
        """A picture of the blocks of each batch and head, up to `limit` of them."""
        dense, pictures = self.to_dense(), []
        down, across = (max(-(-n // most), 1) for n, most in zip(dense.shape[-2:], grid_size))
        lead = list(itertools.product(*map(range, dense.shape[:-2])))
        for at in lead[:limit]:
            rows, lines = dense[at].tolist(), [str(at)]
            for r in range(0, len(rows), down):
                cells = ([n for row in rows[r:r + down] for n in row[c:c + across]] for c in range(0, len(rows[0]), across))
                lines.append(''.join('██' if min(cell) else '░░' if max(cell) else '  ' for cell in cells))
            pictures.append('\n'.join(lines))
        more = ['...\nTo print out more, set BlockMask.to_string(limit=N)'] if len(lead) > limit else []
        return '\n\n'.join([*pictures, *more]).rstrip()

    def __str__(self):
        return f'BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string()}\n)'

    def __repr__(self):
        return f'BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, BLOCK_SIZE={self.BLOCK_SIZE}, mask_mod={self.mask_mod})'


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False, separate_full_blocks=True, **_):
    """The BlockMask of mask_mod(b, h, q, kv) -> bool, whose sizes may be no multiples of BLOCK_SIZE; B, H: None is 1."""
    if not callable(mask_mod) or len(inspect.signature(mask_mod).parameters) != 4:
        raise AssertionError(f'[create_block_mask] needs a mask_mod of (b, h, q_idx, kv_idx), not {mask_mod}')
    size: Any = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    with no_grad():
        mask = cast(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), int32)
        down, across = -(-Q_LEN // size[0]), -(-KV_LEN // size[1])
        mask = ops['pad'](mask, (0, across * size[1] - KV_LEN, 0, down * size[0] - Q_LEN))
        sums = ops['sum'](ops['reshape'](mask, (*mask.shape[:2], down, size[0], across, size[1])), (3, 5))
        most = size[0] * size[1]
        whole = ops['equal'](sums, most) if separate_full_blocks else full(tuple(sums.shape), False, sums, boolean)
        part = ops['logical_and'](ops['greater'](sums, 0), ops['logical_not'](whole))
        found = _ordered(cast(part, int32)) + (_ordered(cast(whole, int32)) if separate_full_blocks else (None, None))
        return BlockMask.from_kv_blocks(*found, BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=(Q_LEN, KV_LEN))


def _checked(query, key, value, enable_gqa):
    if min(query.ndim, key.ndim, value.ndim) != 4 or max(query.ndim, key.ndim, value.ndim) != 4:
        raise ValueError(f'[flex_attention] query, key and value need 4 dimensions, not {query.ndim}, {key.ndim} and {value.ndim}')
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(f'[flex_attention] query, key and value have dtypes {query.dtype}, {key.dtype} and {value.dtype}')
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(f'[flex_attention] query has {query.shape[-1]} features, key {key.shape[-1]}')
    heads, of_key = query.shape[1], key.shape[1]
    if heads != of_key and (not enable_gqa or heads % of_key):
        raise ValueError(f'[flex_attention] {heads} heads of query and {of_key} of key: a multiple with enable_gqa=True, otherwise as many')
    if key.shape[0] not in (1, query.shape[0]):
        raise ValueError(f'[flex_attention] key has a batch of {key.shape[0]}, query of {query.shape[0]}')


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None,
                   *, return_aux=None):
    """softmax(score_mod(scale · query · keyᵀ, b, h, q, kv)) · value over what block_mask shows; 0 for a query that sees nothing.

    query (B, Hq, L, E), key (B or 1, Hkv, S, E), value (B or 1, Hkv, S, Ev) -> (B, Hq, L, Ev). score_mod is a function of tensors of
    rank 0. return_lse: also log(sum(exp(scores))), (B, Hq, L); return_aux: also an AuxOutput.
    """
    _checked(query, key, value, enable_gqa)
    sizes = (*query.shape[:3], key.shape[2])
    if block_mask is not None and (block_mask.seq_lengths[0] < sizes[2] or block_mask.seq_lengths[1] < sizes[3]):
        raise ValueError(f'[flex_attention] block_mask is of {block_mask.seq_lengths}, query and key of {sizes[2:]} tokens')
    if query.shape[1] != key.shape[1]:
        key, value = (repeat_interleave(x, query.shape[1] // key.shape[1], 1) for x in (key, value))
    precise = float64 if query.dtype is float64 else float32
    scores = cast(ops['matmul'](query, ops['transpose'](key, -2, -1)), precise) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if score_mod is not None:
        scores = cast(_everywhere(score_mod, sizes, query, scores), precise)
    if block_mask is not None:
        scores = ops['where'](_everywhere(block_mask.mask_mod, sizes, query), scores, full((), -math.inf, scores))
    hidden = every(ops['equal'](scores, -math.inf), -1, keepdim=True)
    # A row of -inf has neither weights nor a gradient: its scores are taken as 0, its result is 0.
    shown = ops['where'](hidden, full((), 0.0, scores), scores)
    weights = ops['where'](hidden, full((), 0.0, scores), ops['softmax'](shown, -1))
    found = ops['matmul'](cast(weights, query.dtype), value)
    if return_aux is None and not return_lse:
        return found
    lse = ops['where'](ops['squeeze'](hidden, -1), full((), -math.inf, scores), logsumexp(shown, -1))
    if return_aux is None:
        return found, lse
    return found, AuxOutput(lse if return_aux.lse else None, ops['max'](scores, (-1,)) if return_aux.max_scores else None)
