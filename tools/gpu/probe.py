#!/usr/bin/env python3
"""Questions that hour.py asks about a device, each in a separate process; the answer is one line of JSON, and the status is 0 if all is
well.

  probe.py machine|who|ceilings|launches --device cuda:0 [--rehearse]
  probe.py vulkan -- COMMAND...      runs it where there is a Vulkan device; 77 where there is none
"""
import argparse
import collections
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
    found = {'devices': devices, 'torch': torch_version(), 'missing': missing, 'cpus': os.cpu_count(),
             'driver': output_of('nvidia-smi', '--query-gpu=name,driver_version,memory.total,pcie.link.gen.current', '--format=csv,noheader')
             or output_of('rocm-smi', '--showproductname', '--showdriverversion'),
             'brief': '; '.join(filter(None, [', '.join(libraries), *(f'{one["name"]}: {one["reason"]}' for one in missing)]))
             or f'{len(mine)} device'}
    answer(found, bool(mine) and not missing)


# ---- Who computes ------------------------------------------------------------------------------------------------------------


def operands(tn, np, device, dtype, *shapes):
    """Numbers that the dtype represents, and the same in double precision."""
    rng, pairs = np.random.default_rng(7), []
    for shape in shapes:
        x = tn.asarray(rng.uniform(-1, 1, shape).astype(np.float32)).to(getattr(tn, dtype))
        pairs.append((x.to(device), np.asarray(x.to(tn.float64))))
    return pairs


def product(tn, np, device, dtype, n):
    (x, a), (w, b) = operands(tn, np, device, dtype, (n, n), (n, n))
    return lambda: x @ w, a @ b, n


def conv(tn, np, device, dtype, n):
    c = max(n // 16, 4)
    (x, a), (w, b) = operands(tn, np, device, dtype, (2, c, 16, 16), (c, c, 3, 3))
    padded, want = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1))), 0
    for i in range(3):
        for j in range(3):
            want = want + np.einsum('nchw,oc->nohw', padded[:, :, i:i + 16, j:j + 16], b[:, :, i, j])
    return lambda: tn.nn.functional.conv2d(x, w, None, padding=1), want, 9 * c


def attention(tn, np, device, dtype, n):
    (q, a), (k, b), (v, c) = operands(tn, np, device, dtype, *[(2, 2, max(n // 2, 16), 64)] * 3)
    scores = a @ b.swapaxes(-1, -2) / 8
    scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ c
    return lambda: tn.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True), want, 64


def allowed_error(dtype, terms, largest):
    """The allowed error of sums of products of numbers in [-1, 1]: u of the dtype, once for the result and once for factors that a
    library rounds on the way (probabilities); n·u of f32 for the sums (Higham 2002, 3.1)."""
    unit = {'float32': 2.0**-24, 'float16': 2.0**-11, 'bfloat16': 2.0**-8}[dtype]
    return 2 * unit * largest + terms * 2.0**-24


def ran_by(profile, device):
    return sorted({span.what for span in profile.spans if span.op and span.device.split(':')[0] == device.split(':')[0]})


def one(tn, np, options, kind, dtype, n):
    run, want, terms = {'product': product, 'conv': conv, 'attention': attention}[kind](tn, np, options.device, dtype, n)
    run()  # opens libraries, makes plans
    with tn.profiler() as profile:
        y = run()
    error = float(np.abs(np.asarray(y.to('cpu').to(tn.float64)) - want).max())
    by = ran_by(profile, options.device)
    must = LIBRARIES.get(options.device.split(':')[0], {}).get(kind, set())
    if kind == 'attention' and dtype == 'float32':
        must = set()  # the plugin's own
    allowed = allowed_error(dtype, terms, float(np.abs(want).max()))
    fine = error <= allowed and (not must or bool(must & set(by)))
    return [kind, dtype, ', '.join(by), f'{error:.2g}', f'{allowed:.2g}', 'ok' if fine else 'WRONG']


def who(options):
    import numpy as np
    import tenon as tn
    n = 64 if options.rehearse else 512
    rows = [one(tn, np, options, kind, dtype, n) for kind in ('product', 'conv', 'attention') for dtype in ('float32', 'float16', 'bfloat16')]
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
        a = tn.ones(n, n, device=device).to(getattr(tn, dtype))
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
