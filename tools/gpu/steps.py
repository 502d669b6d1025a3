"""The steps of hour.py in order: each is a command with a limit, and a function that reads its output."""
import dataclasses
import json
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ABSENT = 77  # the exit status of a step that lacks something it needs

# The thresholds for using libraries, set to none so that small cases use them too.
NO_THRESHOLDS = {'TENON_CUDA_CUBLASLT_LEAST': '0', 'TENON_CUDA_CUDNN_LEAST': '0', 'TENON_ROCM_HIPBLASLT_LEAST': '0',
                 'TENON_ROCM_ROCBLAS_LEAST': '0', 'TENON_ROCM_MIOPEN_LEAST': '0'}
NO_LIBRARIES = {'TENON_CUDA_CUBLASLT': '0', 'TENON_CUDA_CUDNN': '0', 'TENON_ROCM_HIPBLASLT': '0', 'TENON_ROCM_ROCBLAS': '0',
                'TENON_ROCM_MIOPEN': '0'}
# Ops that libraries compute, or could compute.
OF_LIBRARIES = ('matmul', 'linear', 'linear_backward_weight', 'scaled_matmul', 'conv', 'conv_backward_input', 'conv_backward_weight', 'attention',
                'attention_backward', 'attention_packed', 'attention_packed_backward')


# Of the conformance suite, with limits in seconds: a group for a step, so that a limit or a fault costs one of them. What everything needs
# comes first.
GROUPS = {'memory': 60, 'streams': 60, 'values': 450, 'large': 240, 'gradients': 300, 'support': 180, 'threads': 180, 'leaks': 120, 'guard': 300,
          'faults': 60, 'cycles': 120, 'abi': 60}


@dataclasses.dataclass
class Step:
    stage: str
    name: str
    about: str
    limit: float  # seconds
    command: list
    environment: dict = dataclasses.field(default_factory=dict)
    read: object = None  # extracts the part of its output that goes into the record


def json_of(text):
    """The last line that is a JSON document by itself, or the whole text."""
    for line in reversed(text.splitlines()):
        if line.startswith(('{', '[')):
            try:
                return json.loads(line)
            except ValueError:
                break
    return json.loads(text)


def report_of(text):
    """The results of `tenon check --json`: counts, and the failures with the commands that repeat them."""
    found = json.loads(text[text.index('{'):])
    return {'cases': found['cases'], 'failed': found['failed'],
            'failures': [{key: one.get(key) for key in ('group', 'case', 'text', 'repeat')} for one in found['failures'][:20]]}


def tables_of(text):
    """The Markdown tables in a text, with the lines of words before them."""
    return '\n'.join(line for line in text.splitlines() if line.startswith('|') or re.match(r'(##|GPT-2|Tenon is)', line))


def python(script, *words):
    return [sys.executable, str(script), *map(str, words)]


class Steps:
    def __init__(self, tree, device, rehearse):
        self.tree, self.device, self.rehearse = tree, device, rehearse
        self.plugin = device.split(':')[0]
        self.steps = []

    def add(self, stage, name, about, limit, command, read=None, **environment):
        self.steps.append(Step(stage, name, about, limit, list(map(str, command)), environment, read))

    def probe(self, what, *words):
        return python(HERE / 'probe.py', what, '--device', self.device, *(['--rehearse'] if self.rehearse else []), *words)

    def check(self, group, *words):
        """A rehearsal takes few cases, because it tests the command and not the kernels."""
        if self.rehearse and not words and group not in ('memory', 'streams'):
            words = ('--only', 'matmul')
        return [self.tree.tools / 'tenon-check', self.plugin, '--device', self.device, '--json', '--timeout', '100', '--group', group, *words,
                *(('--sample', '8') if self.rehearse else ())]

    def benchmark(self, script, *words):
        return python(self.tree.benchmarks / script, *words)

    # ---- A: what is present, and who computes ----------------------------------------------------------------------------------

    def first(self):
        self.add('A', 'machine', 'versions, drivers, devices and libraries', 120, self.probe('machine', '--tenon', self.tree.tools / 'tenon'),
                 json_of)
        self.add('A', 'who', 'one product, convolution and attention of each dtype: right, and by whom', 180, self.probe('who'), json_of)

    # ---- B: correctness --------------------------------------------------------------------------------------------------------

    def correctness(self):
        for group, limit in GROUPS.items():
            if not self.rehearse or group in ('memory', 'values', 'large'):
                self.add('B', f'check_{group}', f'the conformance suite: {group}', limit, self.check(group), report_of)
        for op in OF_LIBRARIES if not self.rehearse else OF_LIBRARIES[:1]:
            self.add('B', f'check_{op}_by_library', f'{op}, small cases by the library, too', 200,
                     self.check('values', '--only', op), report_of, **NO_THRESHOLDS)
            self.add('B', f'check_{op}_without', f"{op} by the plugin's own kernels", 200,
                     self.check('values', '--only', op), report_of, **NO_LIBRARIES)
        self.add('B', 'graph', 'a training step as a graph', 180, self.benchmark('gpt2.py', '--only', 'tenon', '--device', self.device, '--steps',
                 2 if self.rehearse else 4, '--batch', 1, *(['--graph'] if self.plugin != 'vulkan' else [])), tables_of)
        if self.plugin == 'cuda':
            self.add('B', 'memory', 'accesses of memory, by compute-sanitizer', 300, [*self.sanitizer(), self.tree.tools / 'tenon-check', 'cuda',
                     '--device', self.device, '--group', 'values', '--sample', '40', '--timeout', '280'])

    def sanitizer(self):
        tool = shutil.which('compute-sanitizer') or '/usr/local/cuda/bin/compute-sanitizer'
        if not pathlib.Path(tool).exists():
            return python(HERE / 'probe.py', 'absent', '--device', self.device, 'compute-sanitizer', '--')
        return [tool, '--target-processes', 'all', '--error-exitcode', '9']

    # ---- C: speed --------------------------------------------------------------------------------------------------------------

    def speed(self):
        small = self.rehearse
        self.add('C', 'ceilings', 'what the card copies and multiplies at most', 120, self.probe('ceilings'), json_of)
        self.add('C', 'ops', 'ops beside PyTorch', 300, self.benchmark('device.py', '--device', self.device, *(
            ['--rounds', 1, '--scale', 0.0001, '--only', 'tenon'] if small else ['--rounds', 9])), tables_of)
        sizes = [('tiny', 'float32')] if small else [('124M', 'bfloat16'), ('355M', 'bfloat16'), ('124M', 'float32')]
        for size, dtype in sizes:
            common = ['--size', size, '--dtype', dtype, '--device', self.device, '--steps', 1 if small else 12]
            if small:
                common += ['--batch', 1, '--only', 'tenon']
            self.add('C', f'gpt2_{size}_{dtype}', 'a training step, op by op', 240, self.benchmark('gpt2.py', *common), tables_of)
            if self.plugin != 'vulkan' and not small:
                self.add('C', f'gpt2_{size}_{dtype}_graph', 'the same as a graph', 240, self.benchmark('gpt2.py', *common, '--graph'), tables_of)
                if self.plugin in ('cuda', 'rocm'):
                    self.add('C', f'gpt2_{size}_{dtype}_tuned', 'the same with algorithms of products chosen by time', 240,
                             self.benchmark('gpt2.py', *common, '--graph', '--only', 'tenon'), tables_of, **{f'TENON_{self.plugin.upper()}_TUNE': '1'})
            if not small:
                self.add('C', f'gpt2_{size}_{dtype}_compiled', 'beside torch.compile', 300,
                         self.benchmark('gpt2.py', *common, '--graph', '--torch-compile'), tables_of)
        self.add('C', 'launches', 'launches and bytes of a step of GPT-2', 180, self.probe('launches'), json_of)

    # ---- D: Vulkan -------------------------------------------------------------------------------------------------------------

    def vulkan(self):
        if self.plugin == 'vulkan' or self.rehearse:
            return
        self.add('D', 'vulkan_check', 'the conformance suite, one of four', 300, self.probe('vulkan', '--', self.tree.tools / 'tenon-check',
                 'vulkan', '--sample', '4', '--json', '--timeout', '200'), report_of)
        self.add('D', 'vulkan_ops', 'ops over Vulkan', 240, self.probe('vulkan', '--', *self.benchmark(
            'device.py', '--device', 'vulkan:0', '--rounds', 5, '--only', 'tenon')), tables_of)


def all_steps(tree, device, rehearse):
    made = Steps(tree, device, rehearse)
    made.first()
    made.correctness()
    made.speed()
    made.vulkan()
    return made.steps
