"""Children that judge cases one after the other; a case that kills its child, computes without end or waits for ever is a finding."""

import contextlib
import gc
import mmap
import os
import resource
import select
import signal
import struct
import sys
import tempfile
import time
import warnings

MEMORY, CPU = 4 << 30, 20  # bytes of a child, seconds of computing of a case: sizes are small, or not to be had
WAITS = 60  # seconds in which a child that neither ends nor computes is known to wait for ever


def add_rounds(parser, count):
    """The options of run_rounds()."""
    parser.add_argument('--count', type=int, default=count)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--seconds', type=float, default=0)
    parser.add_argument('--jobs', help='taken and ignored, as ./dev fuzz gives it to all')


def run_rounds(options, run):
    """Calls run(options, seed), which gives (what it did, faults), from one seed to the next until the time is up, or once; 1 after faults."""
    options.end = time.monotonic() + options.seconds if options.seconds else float('inf')
    seed, faults = options.seed, 0
    while True:
        done, found = run(options, seed)
        print(f'{done}, {found} faults', file=sys.stderr, flush=True)
        seed, faults = seed + 1, faults + found
        if time.monotonic() > options.end or not options.seconds:
            return 1 if faults else 0


def limit_memory():
    if 'asan' not in os.environ.get('LD_PRELOAD', ''):  # which maps far more
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def quieten(folder):
    """Nothing that a call prints, reads or writes gets beyond a folder of its own."""
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    warnings.simplefilter('ignore')
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit_memory()


def run_child(cases, verdict, progress, report):
    while progress[0] < len(cases):
        signal.setitimer(signal.ITIMER_PROF, CPU)
        problem = verdict(cases[progress[0]])
        if problem:
            data = f'{progress[0]} {problem}'.replace('\n', ' ').encode(errors='backslashreplace')
            os.write(report, struct.pack('i', len(data)) + data)
        progress[0] += 1
    signal.setitimer(signal.ITIMER_PROF, 0)
    gc.collect()


def computed(child):
    """The ticks that a process has computed for so far."""
    with open(f'/proc/{child}/stat', encoding='utf-8', errors='replace') as file:
        return sum(map(int, file.read().rsplit(')', 1)[1].split()[11:15]))


def read_report(child, source):
    """Everything that a child reports until it ends; a child that computes nothing for long is stopped."""
    data, ticks, idle = b'', -1, 0
    while True:
        if select.select([source], [], [], 1)[0]:
            part = os.read(source, 1 << 16)
            if not part:
                return data, idle >= WAITS
            data += part
            continue
        now = computed(child)
        idle, ticks = (idle + 1 if now == ticks else 0), now
        if idle == WAITS:
            os.kill(child, signal.SIGKILL)


def messages(data):
    while data:
        size, = struct.unpack_from('i', data)
        number, _, problem = data[4:4 + size].decode().partition(' ')
        yield int(number), problem
        data = data[4 + size:]


def run_cases(cases, verdict):
    """[(case, what is wrong)] by verdict(case), which gives '' or the fault; behind a case that kills its child the next child goes on."""
    gc.freeze()  # what children need not look at
    progress = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast('i')
    found = []
    while progress[0] < len(cases):
        source, sink = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.setpgid(0, 0)
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                with tempfile.TemporaryDirectory() as folder:
                    quieten(folder)
                    run_child(cases, verdict, progress, sink)
                code = 0
            except SystemExit:
                code = 3
            finally:
                os._exit(code)
        os.close(sink)
        data, waits = read_report(child, source)
        os.close(source)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # workers that a call started
        found += [(cases[number], problem) for number, problem in messages(data)]
        if status == 0:
            break
        at = progress[0]
        progress[0] += 1
        name = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ''
        problem = 'waits for ever' if waits else f'computes for {CPU} s' if name == 'SIGPROF' else f'dies of {name}' if name else f'ends the process with {os.WEXITSTATUS(status)}'
        found.append((cases[min(at, len(cases) - 1)], problem if at < len(cases) else f'{problem}, at the end of all'))
    return found
