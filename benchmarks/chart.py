#!/usr/bin/env python3
"""Draws the first table of models.md as docs/pictures/models.svg: how many times as fast as PyTorch's eager mode.

  python benchmarks/chart.py       done by models.py --write, too
"""
import math
import pathlib
from html import escape

HERE = pathlib.Path(__file__).resolve().parent
PICTURE = HERE.parent / 'docs' / 'pictures' / 'models.svg'

WIDTH, LEFT, RIGHT, TOP, ROW = 760, 240, 56, 64, 22
LEAST, MOST = 0.5, 4.0
STYLE = '''text { font: 13px system-ui, sans-serif; fill: #24292f } .faint { fill: #57606a; font-size: 12px } .title { font-size: 15px; font-weight: 600 }
.grid { stroke: #d0d7de } .one { stroke: #57606a } .tenon { fill: #0a7d8c } .compile { fill: #d97706 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #30363d } .one { stroke: #9198a1 }
  .tenon { fill: #2bb3c0 } .compile { fill: #f0a73c } }'''


def rows_of(report):
    """(name, Tenon's speed, torch.compile's or None) of each row of the first table, PyTorch's eager mode being 1."""
    table = report.split('\n## ')[1].splitlines()
    begin = next(i for i, text in enumerate(table) if text.startswith('|'))
    head = [cell.strip() for cell in table[begin].strip('|').split('|')]
    found = []
    for text in table[begin + 2:]:
        if not text.startswith('|'):
            break
        cells = dict(zip(head, (cell.strip(' *') for cell in text.strip('|').split('|'))))
        ours = float(cells['PyTorch / Tenon'])
        compiled = cells.get('torch.compile / Tenon')
        found.append((cells[''], ours, ours / float(compiled) if compiled else None))
    return found


def place(ratio):
    """The x of a speed, on a logarithmic scale."""
    share = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def drawn(rows):
    """The picture of these rows, as SVG."""
    bottom = TOP + ROW * len(rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 34}" viewBox="0 0 {WIDTH} {bottom + 34}">',
             '<title>Speed of whole networks beside PyTorch</title>', f'<style>{STYLE}</style>',
             '<text class="title" x="8" y="22">Whole networks on two CPU cores, float32: speed, PyTorch eager = 1</text>',
             '<rect class="tenon" x="8" y="36" width="18" height="10"/><text class="faint" x="32" y="45">Tenon, eager</text>',
             '<circle class="compile" cx="136" cy="41" r="5"/><text class="faint" x="148" y="45">torch.compile</text>']
    for tick in (0.5, 0.7, 1, 1.5, 2, 3, 4):
        x = place(tick)
        parts.append(f'<line class="{"one" if tick == 1 else "grid"}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}"/>'
                     f'<text class="faint" text-anchor="middle" x="{x:.1f}" y="{bottom + 18}">{tick:g}×</text>')
    for i, (name, ours, compiled) in enumerate(rows):
        y, (begin, end) = TOP + ROW * i, sorted((place(1), place(ours)))
        parts.append(f'<text text-anchor="end" x="{LEFT - 10}" y="{y + 14}">{escape(name)}</text>'
                     f'<rect class="tenon" x="{begin:.1f}" y="{y + 4}" width="{end - begin:.1f}" height="12"/>'
                     f'<text class="faint" x="{end + 6:.1f}" y="{y + 14}">{ours:.2f}</text>')
        if compiled:
            parts.append(f'<circle class="compile" cx="{place(compiled):.1f}" cy="{y + 10}" r="5"/>')
    return '\n'.join([*parts, '</svg>', ''])


def write():
    PICTURE.write_text(drawn(rows_of((HERE / 'models.md').read_text())))


if __name__ == '__main__':
    write()
