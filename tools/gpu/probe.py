#!/usr/bin/env python3
"""Questions that hour.py asks about a device, each in a separate process; the answer is one line of JSON, and the status is 0 if all is
well.

  probe.py machine|who|ceilings|launches --device cuda:0 [--rehearse]
  probe.py vulkan -- COMMAND...      runs it where there is a Vulkan device; 77 where there is none
"""
import argparse
import collections
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

ABSENT = 77
BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / 'benchmarks'

# Who must compute what on each backend, by the names that the profiler reports. Other backends have their own kernels for everything.
LIBRARIES = {
    'cuda': {'product': {'cuBLASLt'}, 'conv': {'cuDNN'}, 'attention': {'cuDNN'}},
    'rocm': {'product': {'hipBLASLt', 'rocBLAS'}, 'conv': {'MIOpen'}, 'attention': set()},
}
# The plugin's kernels that would compute them otherwise.
OWN = {'product': {'matmul', 'matmul_weight'}, 'conv': {'conv'}, 'attention': {'attention', 'attention_backward'}}


def answer(found, fine=True):
    print(json.dumps(found, ensure_ascii=False), flush=True)
    sys.exit(0 if fine else 1)


def output_of(*command):
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return (done.stdout or done.stderr).strip()


# ---- Machine ---------------------------------------------------------------------------------------------------------------


def torch_version():
    try:
        import torch
    except Exception as problem:  # whatever a broken installation throws
        return f'none: {type(problem).__name__}'
    return f'{torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}'


def machine(options):
    shown = subprocess.run([options.tenon, 'devices', '--json'], capture_output=True, text=True, check=False)
    if shown.returncode != 0:
        answer({'problem': shown.stderr[-2000:]}, False)
    devices = json.loads(shown.stdout)
    mine = [row for row in devices if row['device'] == options.device]
    missing = [one for row in mine for one in row.get('libraries', []) if one['reason']]
    libraries = [f'{one["name"]} {one["version"]}'.strip() for row in mine for one in row.get('libraries', []) if not one['reason']]
    why = [row['reason'] for row in devices if row['plugin'] == options.device.split(':')[0] and row['reason']]
    found = {'present': bool(mine), 'devices': devices, 'torch': torch_version(), 'missing': missing, 'cpus': os.cpu_count(),
             'driver': output_of('nvidia-smi', '--query-gpu=name,driver_version,memory.total,pcie.link.gen.current', '--format=csv,noheader')
             or output_of('rocm-smi', '--showproductname', '--showdriverversion'),
             'brief': '; '.join(filter(None, [', '.join(libraries), *(f'{one["name"]}: {one["reason"]}' for one in missing)]))
             or (f'{len(mine)} device' if mine else '; '.join([f'no {options.device}', *why]))}
    answer(found, bool(mine) and not missing)


# ---- Who computes ------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Work:
    """A call by libraries: its operands, and how many terms are summed for an element of the result or of a gradient."""
    shapes: list
    call: object
    terms: int
    library: str  # a key of LIBRARIES


def works(tn, n):
    f, c, places = tn.nn.functional, max(n // 8, 4), max(n // 2, 16)
    return {'product': Work([(n, n), (n, n)], lambda x, w: x @ w, n, 'product'),
            'linear': Work([(n, n), (n, n), (n,)], f.linear, n, 'product'),
            'conv': Work([(2, c, 16, 16), (c, c, 3, 3)], lambda x, w: f.conv2d(x, w, None, padding=1), max(9 * c, 512), 'conv'),
            'attention': Work([(2, 2, places, 64)] * 3, lambda q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True), places,
                              'attention')}


def uniform(tn, np, rng, dtype, shape):
    """Numbers in [-1, 1] that the dtype represents."""
    return tn.asarray(rng.uniform(-1, 1, shape).astype(np.float32)).to(getattr(tn, dtype))


def allowed_error(dtype, terms, largest):
    """The allowed error of sums of products of numbers in [-1, 1]: u of the dtype, once for the result and once for factors that a
    library rounds on the way (probabilities); n·u of f32 for the sums (Higham 2002, 3.1)."""
    unit = {'float32': 2.0**-24, 'float16': 2.0**-11, 'bfloat16': 2.0**-8}[dtype]
    return 2 * unit * largest + terms * 2.0**-24


# What attention's gradients round on the way: scores' gradients, sums of 64 products of numbers in [-1, 1], an eighth of them.
ON_THE_WAY = 2


def ran_by(profile, device):
    return sorted({span.what for span in profile.spans if span.op and span.device.split(':')[0] == device.split(':')[0]})


def row_of(options, kind, work, dtype, by, errors):
    """`errors`: of each result, the largest and the largest result."""
    must = LIBRARIES.get(options.device.split(':')[0], {}).get(work.library, set())
    if work.library == 'attention' and dtype == 'float32':
        must = set()  # the plugin's own
    more = ON_THE_WAY if kind == 'attention, gradients' else 0
    error, allowed = max(((e, allowed_error(dtype, work.terms, largest + more)) for e, largest in errors), key=lambda pair: pair[0] / pair[1])
    by_library = not must or bool(must & set(by)) and not OWN[work.library] & set(by)
    fine = error <= allowed and by_library
    return [kind, dtype, ', '.join(by), f'{error:.2g}', f'{allowed:.2g}', 'ok' if fine else 'WRONG']


def one(tn, np, options, kind, work, dtype):
    """Two rows: the call and its gradients, beside the same on the host in double precision."""
    rng = np.random.default_rng(7)
    given = [uniform(tn, np, rng, dtype, shape) for shape in work.shapes]
    mine = [x.to(options.device).requires_grad_() for x in given]
    wanted = [x.to(tn.float64).requires_grad_() for x in given]
    work.call(*mine)  # opens libraries, makes plans
    with tn.profiler() as forward:
        y = work.call(*mine)
    want = work.call(*wanted)
    g = uniform(tn, np, rng, dtype, tuple(want.shape))
    with tn.profiler() as backward:
        y.backward(g.to(options.device))
        tn.device(options.device).synchronize()
    want.backward(g.to(tn.float64))

    def error(x, w):
        w = np.asarray(w.detach())
        return float(np.abs(np.asarray(x.detach().to('cpu').to(tn.float64)) - w).max()), float(np.abs(w).max())
    return [row_of(options, kind, work, dtype, ran_by(forward, options.device), [error(y, want)]),
            row_of(options, f'{kind}, gradients', work, dtype, ran_by(backward, options.device),
                   [error(x.grad, w.grad) for x, w in zip(mine, wanted, strict=True)])]


def who(options):
    import numpy as np
    import tenon as tn
    rows = []
    for kind, work in works(tn, 64 if options.rehearse else 512).items():
        for dtype in ('float32', 'float16', 'bfloat16'):
            try:
                rows += one(tn, np, options, kind, work, dtype)
            except Exception as problem:  # the others are tried all the same
                rows.append([kind, dtype, f'{type(problem).__name__}: {problem}', '', '', 'FAILED'])
    wrong = [row for row in rows if row[-1] != 'ok']
    answer({'brief': f'{len(rows) - len(wrong)} of {len(rows)} right and by whom they should be',
            'table': [['op', 'dtype', 'computed by', 'largest error', 'allowed', ''], *rows]}, not wrong)


# ---- Speed -------------------------------------------------------------------------------------------------------------------


def seconds_of(device, work):
    """The best of several measurements of about 50 ms."""
    work()
    device.synchronize()
    count, best = 1, float('inf')
    for _ in range(8):
        start = time.perf_counter()
        for _ in range(count):
            work()
        device.synchronize()
        spent = time.perf_counter() - start
        best = min(best, spent / count)
        count = max(1, min(1000, int(count * 0.05 / max(spent, 1e-6))))
    return best


def ceilings(options):
    import tenon as tn
    device, n = tn.device(options.device), 64 if options.rehearse else 8192
    rows = []
    x = tn.ones(n * n, device=device)
    rows.append(['copy, f32', f'{2 * 4 * n * n / seconds_of(device, lambda: x + 0.0) / 1e9:.0f} GB/s'])
    for dtype in ('float32', 'float16', 'bfloat16'):
        a = tn.randn(n, n, device=device).to(getattr(tn, dtype))  # equal numbers take less power and so run faster
        rows.append([f'product of {n}², {dtype}', f'{2 * n**3 / seconds_of(device, lambda a=a: a @ a) / 1e12:.1f} TFLOP/s'])
    host = tn.ones(n * n)
    rows.append(['host to device', f'{4 * n * n / seconds_of(device, lambda: host.to(device)) / 1e9:.1f} GB/s'])
    answer({'brief': '; '.join(f'{a}: {b}' for a, b in rows[:3]), 'table': [['what', 'at most'], *rows]})


PRODUCTS = {'matmul', 'linear', 'linear_backward_weight'}


def dry(options):
    """A dry simulator launches kernels without computing, so that it counts those of the real network in seconds."""
    if options.device.startswith('gpusim') and not options.rehearse:
        os.environ['TENON_GPUSIM_DRY'] = '1'  # before the library is loaded


def launches(options):
    """The launches of a step of GPT-2 124M, 4 × 1024 tokens in bf16; a rehearsal uses as many layers of a smaller width."""
    dry(options)
    sys.path.insert(0, str(BENCHMARKS))
    import gpt2
    from sides import Tenon
    side = Tenon(options.device)
    size, batch = (gpt2.Size(12, 12, 96, 16, 256), 1) if options.rehearse else (gpt2.SIZES['124M'], 4)
    training = gpt2.Training(side, size, batch, 'bfloat16')
    training.step()
    with side.library.profiler(calls=False) as profile:
        training.step()
        side.synchronize()
    nodes = None
    try:
        with side.library.capture(side.device) as graph:
            training.whole()
        nodes = graph.nodes
    except side.library.UnimplementedError:
        pass  # Vulkan's devices cannot capture
    count, moved = collections.Counter(), collections.Counter()
    for span in profile.spans:
        name = span.op or span.what
        count[name] += 1
        moved[name] += span.bytes
    products = sum(moved[name] for name in PRODUCTS)
    total, rest = sum(count.values()), sum(moved.values()) - products
    rows = [[name, number, f'{moved[name] / 1e6:,.1f}'] for name, number in sorted(count.items(), key=lambda each: -moved[each[0]])]
    whole = '' if nodes is None else f', {nodes} nodes as one graph'
    answer({'brief': f'{total} launches{whole}, {rest / 1e9:.2f} GB besides products, {products / 1e9:.2f} GB of products', 'launches': total,
            'nodes': nodes, 'bytes': rest, 'bytes_of_products': products, 'table': [['op', 'launches', 'MB of operands and results'], *rows]}, bool(count))


# ---- Others ------------------------------------------------------------------------------------------------------------------


def vulkan(options):
    import tenon
    if not any(str(device).startswith('vulkan:') for device in tenon.devices()):
        print('no Vulkan device', file=sys.stderr)
        sys.exit(ABSENT)
    os.execvp(options.words[0], options.words)


def absent(options):
    print(f'{options.words[0]} is not installed')
    sys.exit(ABSENT)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=['machine', 'who', 'ceilings', 'launches', 'vulkan', 'absent'])
    parser.add_argument('--device', required=True)
    parser.add_argument('--rehearse', action='store_true')
    parser.add_argument('--tenon', default='tenon')
    parser.add_argument('words', nargs='*')
    options = parser.parse_args()
    globals()[options.what](options)


if __name__ == '__main__':
    main()
