"""Recognises spoken commands from spectrograms: ten words of Speech Commands (Warden 2018, arXiv:1804.03209) in the voices of
espeak-ng.

    apt-get install espeak-ng
    python keyword_spotting.py           a minute or two
    python keyword_spotting.py --short   some seconds

Each word is spoken by several voices, at several speeds and pitches, and each time it is seen it is shifted, made louder or softer and
mixed with noise. The network sees how loud 40 bands are over time (a mel spectrogram; O'Shaughnessy 1987) and is a small stack of
convolutions (Sainath & Parada 2015).
To reach: 0.95 of the words right, by voices that it has not heard.
"""
import io as memory
import math
import subprocess
import wave

import common
import pictures
import tenon
from tenon import nn, optim

WORDS = 'yes', 'no', 'up', 'down', 'left', 'right', 'on', 'off', 'stop', 'go'
HEARD, UNHEARD = ('m1', 'm2', 'm3', 'm5', 'm7', 'f1', 'f2', 'f4'), ('m4', 'm6', 'f3', 'f5')
RATE, LENGTH, WINDOW, HOP, BANDS = 22050, 16384, 512, 256, 40


def speak(word, voice, speed, pitch):
    """Samples from -1 to 1, (16384)."""
    command = ['espeak-ng', '--stdout', '-v', f'en-us+{voice}', '-s', str(speed), '-p', str(pitch), word]
    try:
        sound = subprocess.run(command, capture_output=True, check=True).stdout
    except FileNotFoundError:
        common.install('apt-get install espeak-ng', 'lets espeak-ng speak')
    with wave.open(memory.BytesIO(sound)) as file:
        samples = tenon.asarray(memoryview(file.readframes(LENGTH)).cast('h')).to(tenon.float32) / 32768
    return tenon.pad(samples, [0, LENGTH - len(samples)])


def spoken(words, voices, speeds, pitches):
    """All combinations: sounds (N, 16384) and labels."""
    every = [(speak(word, voice, speed, pitch), label) for label, word in enumerate(words) for voice in voices for speed in speeds for pitch in pitches]
    return tenon.stack([sound for sound, _ in every]), tenon.tensor([label for _, label in every])


def mel_filters():
    """(257, 40): triangles that overlap by half, evenly spaced on the mel scale from 60 to 8000 Hz."""
    def mel(hertz):
        return 2595 * math.log10(1 + hertz / 700)
    edges = 700 * (10 ** (tenon.linspace(mel(60), mel(8000), BANDS + 2) / 2595) - 1)
    hertz = tenon.arange(WINDOW // 2 + 1)[:, None] * (RATE / WINDOW)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    return tenon.minimum((hertz - left) / (centre - left), (right - hertz) / (right - centre)).clamp(min=0)


def spectrogram(sounds, filters):
    """The logarithm of the power in each band, (N, 1, 40, frames)."""
    window = (tenon.arange(WINDOW) * (math.pi / WINDOW)).sin() ** 2
    places = tenon.arange(0, LENGTH - WINDOW + 1, HOP)[:, None] + tenon.arange(WINDOW)
    power = tenon.fft.rfft(sounds[:, places] * window).abs() ** 2
    return ((power @ filters + 1e-4).log() / 4 + 1).transpose(1, 2).unsqueeze(1)


def disturb(sounds):
    """Shifts each sound by up to a fifth of a second, changes its volume and adds noise."""
    n = len(sounds)
    late = tenon.randint((n, 1), 0, RATE // 5)
    places = tenon.arange(LENGTH) - late
    moved = sounds.gather(1, places.clamp(min=0)) * (places >= 0)
    return moved * (0.4 + 0.8 * tenon.rand(n, 1)) + 0.02 * tenon.rand(n, 1) * tenon.randn(n, LENGTH)


def network(width, words):
    layers, before = [], 1
    for w in (width, 2 * width, 4 * width):
        layers += [nn.Conv2d(before, w, 3, padding=1, bias=False), nn.BatchNorm2d(w), nn.ReLU(), nn.MaxPool2d(2)]
        before = w
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d((1, 4)), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16 * width, words))


def main():
    p = common.parser(__doc__)
    p.add_argument('--steps', type=int, default=400)
    p.add_argument('--batch-size', type=int, default=64)
    p.add_argument('--width', type=int, default=16)
    p.add_argument('--lr', type=float, default=4e-3)
    p.add_argument('--reach', type=float, default=0.95)
    o = common.parse(p, short=dict(steps=40, width=8, batch_size=32, lr=1e-2, reach=0.5))
    words = WORDS[:4] if o.short else WORDS
    sounds, labels = spoken(words, HEARD[:4] if o.short else HEARD, (140,) if o.short else (120, 150, 180), (40,) if o.short else (35, 50, 65))
    test_sounds, test_labels = spoken(words, UNHEARD[:2] if o.short else UNHEARD, (150,) if o.short else (135, 165), (45,) if o.short else (42, 58))
    print(f'{len(sounds)} sounds to learn from, {len(test_sounds)} of other voices to test with')
    filters, net = mel_filters(), network(o.width, len(words)).to(o.device)
    optimizer = optim.AdamW(net.parameters(), lr=o.lr)
    schedule = optim.OneCycleLR(optimizer, o.lr, max(o.steps, 2))
    with common.Curve(o, 'loss', every=10 if o.short else 50, steps=o.steps, state=net.state_dict) as curve:
        for step in range(1, o.steps + 1):
            some = tenon.randint((o.batch_size,), 0, len(sounds))
            x = spectrogram(disturb(sounds[some]), filters)
            loss = nn.functional.cross_entropy(net(x.to(o.device)), labels[some].to(o.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            curve.add(step, loss=loss.item())
    net.eval()
    with tenon.no_grad():
        x = spectrogram(test_sounds, filters)
        pictures.save_grid(o.output / 'spectrograms.png', x[::max(len(x) // 16, 1)][:16].flip(2) / 2 + 0.5, 4)
        right = net(x.to(o.device)).argmax(1).cpu() == test_labels
    common.figure('right words:', right.to(tenon.float32).mean().item(), o.reach)


if __name__ == '__main__':
    main()
