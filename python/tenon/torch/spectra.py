"""Short-time Fourier transforms."""
from .. import fft as _fft
from .._core import ops
from .._errors import InvalidArgumentError, UnsupportedDtypeError
from ._common import arange, check, full, rank
from .pointwise import view_as_real
from .shape import unfold


def _window(window, win_length, n_fft, x):
    """The window, centred within n_fft entries."""
    if window is not None and window.shape != (win_length,):
        raise InvalidArgumentError(f'[stft] window has shape {window.shape}, must be ({win_length},)')
    if not 0 < win_length <= n_fft:
        raise InvalidArgumentError(f'[stft] win_length {win_length} must be 1 to {n_fft}')
    window = full((win_length,), 1, x) if window is None else window
    before = (n_fft - win_length) // 2
    return ops['pad'](window, (before, n_fft - win_length - before)) if win_length < n_fft else window


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', normalized=False, onesided=None,
         return_complex=None, align_to_window=None):
    """The transforms of windows of (…, time) at a distance of hop_length: (…, frequencies, windows)."""
    from .nn.functional import pad
    x = check(input)
    is_complex = rank(x.dtype) == 3 or (window is not None and rank(window.dtype) == 3)
    if return_complex is None:
        if not is_complex:
            raise InvalidArgumentError('[stft] real input needs return_complex=')
        return_complex = True
    if rank(x.dtype) < 2 or x.ndim not in (1, 2):
        raise UnsupportedDtypeError(f'[stft] needs floating or complex numbers (time,) or (batch, time), not {x.dtype} of shape {x.shape}')
    if align_to_window is not None and center:
        raise InvalidArgumentError('[stft] align_to_window is for center=False')
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    single = x.ndim == 1
    x = ops['unsqueeze'](x, 0) if single else x
    if center:
        x = pad(ops['unsqueeze'](x, 1), (n_fft // 2, n_fft // 2), pad_mode)
        x = ops['squeeze'](x, 1)
    elif align_to_window is False:
        x = pad(x, ((n_fft - win_length) // 2,) * 2)
    if not 0 < n_fft <= x.shape[-1] or hop_length <= 0:
        raise InvalidArgumentError(f'[stft] n_fft {n_fft} and hop_length {hop_length} for {x.shape[-1]} entries')
    frames = unfold(x, -1, n_fft, hop_length) * _window(window, win_length, n_fft, x)
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise InvalidArgumentError('[stft] complex numbers have no onesided transform')
    norm = 'ortho' if normalized else 'backward'
    found = _fft.rfft(frames, norm=norm) if onesided else _fft.fft(frames, norm=norm)
    found = ops['transpose'](found, -2, -1)
    found = ops['squeeze'](found, 0) if single else found
    return found if return_complex else view_as_real(found)


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
          return_complex=False):
    """The inverse of stft(): windows added up, divided by the sum of the squared windows."""
    x = check(input)
    if rank(x.dtype) != 3 or x.ndim not in (2, 3) or not x.size:
        raise InvalidArgumentError(f'[istft] needs complex numbers (frequencies, windows) or with a batch, not {x.dtype} of shape {x.shape}')
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    onesided = x.shape[-2] != n_fft if onesided is None else onesided
    if x.shape[-2] != (n_fft // 2 + 1 if onesided else n_fft) or not 0 < hop_length <= win_length:
        raise InvalidArgumentError(f'[istft] {x.shape[-2]} frequencies for n_fft {n_fft}, hop_length {hop_length}, win_length {win_length}')
    if onesided and return_complex:
        raise InvalidArgumentError('[istft] onesided transforms are of real numbers')
    single = x.ndim == 2
    x = ops['transpose'](ops['unsqueeze'](x, 0) if single else x, -2, -1)  # (batch, windows, frequencies)
    norm = 'ortho' if normalized else 'backward'
    if return_complex:
        frames = _fft.ifft(x, norm=norm)
    else:  # for real numbers the second half is redundant
        frames = _fft.irfft(ops['slice'](x, -1, 0, n_fft // 2 + 1), n=n_fft, norm=norm)
    window = _window(window, win_length, n_fft, ops['real'](frames) if rank(frames.dtype) == 3 else frames)
    batch, count = frames.shape[:2]
    total = n_fft + hop_length * (count - 1)
    at = ops['reshape'](ops['unsqueeze'](arange(count, x) * hop_length, 1) + arange(n_fft, x), (count * n_fft,))
    frames = ops['reshape'](frames * window, (batch, count * n_fft))
    found = ops['index_add'](full((batch, total), 0, frames), 1, at, frames)
    squares = ops['reshape'](ops['expand'](window * window, (count, n_fft)), (count * n_fft,))
    weight = ops['index_add'](full((total,), 0, squares), 0, at, squares)
    begin = n_fft // 2 if center else 0
    end = begin + length if length is not None else total - (n_fft // 2 if center else 0)
    found, weight = ops['slice'](found, 1, begin, min(end, total)), ops['slice'](weight, 0, begin, min(end, total))
    if float(ops['min'](ops['abs'](weight))) < 1e-11:
        raise InvalidArgumentError('[istft] the windows leave a place without weight')
    found = found / weight
    if length is not None and end > total:
        found = ops['concat']([found, full((batch, end - total), 0, found)], 1)
    return ops['squeeze'](found, 0) if single else found
