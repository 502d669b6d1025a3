"""torch.profiler beside PyTorch: scopes, schedules, averages, tables and traces."""
import gzip
import json

import pytest

import tenon.torch as ours


def work(t):
    x = t.ones(4, 4, requires_grad=True)
    with t.profiler.record_function('forward'):
        y = t.mm(x, x)
        y = t.relu(y)
    y.sum().backward()


def test_averages_and_table(torch):
    for t in torch, ours:
        with t.profiler.profile(activities=[t.profiler.ProfilerActivity.CPU]) as prof:
            work(t)
            work(t)
        found = {event.key: event for event in prof.key_averages()}
        assert found['forward'].count == 2
        forward = found['forward']
        assert 0 < forward.self_cpu_time_total <= forward.cpu_time_total and forward.cpu_time == pytest.approx(forward.cpu_time_total / 2)
        text = prof.key_averages().table(sort_by='self_cpu_time_total', row_limit=3)
        assert 'Self CPU %' in text and '# of Calls' in text and 'Self CPU time total:' in text
    assert found['matmul'].count >= 2 and found['relu'].count == 2
    total = prof.key_averages().total_average()
    assert total.count == len(prof.events()) and total.self_cpu_time_total == pytest.approx(prof.key_averages().self_cpu_time_total)
    assert text.splitlines()[3].split()[0] in found and len(text.splitlines()) == 8
    with pytest.raises(ValueError, match='sort_by'):
        prof.key_averages().table(sort_by='nothing')


@pytest.mark.parametrize('arguments', [
    {'wait': 1, 'warmup': 1, 'active': 2}, {'wait': 0, 'warmup': 0, 'active': 1}, {'wait': 1, 'warmup': 1, 'active': 2, 'repeat': 2},
    {'wait': 2, 'warmup': 1, 'active': 1, 'skip_first': 3}, {'wait': 0, 'warmup': 2, 'active': 1, 'repeat': 1, 'skip_first': 1}])
def test_schedule(torch, arguments):
    theirs, mine = torch.profiler.schedule(**arguments), ours.profiler.schedule(**arguments)
    assert [mine(step).name for step in range(20)] == [theirs(step).name for step in range(20)]
    with pytest.raises(ValueError, match='active must be'):
        ours.profiler.schedule(wait=1, warmup=1, active=0)


@pytest.mark.parametrize('repeat', [0, 1])
def test_steps(torch, repeat):
    def run(t):
        ready = []
        with t.profiler.profile(schedule=t.profiler.schedule(wait=1, warmup=1, active=2, repeat=repeat),
                                on_trace_ready=lambda prof: ready.append((prof.step_num, 'forward' in {e.key for e in prof.key_averages()}))) as prof:
            for _ in range(9):
                work(t)
                prof.step()
        return ready[:2]
    assert run(ours) == run(torch)


def test_traces(tmp_path):
    handler = ours.profiler.tensorboard_trace_handler(str(tmp_path / 'traces'), 'worker', use_gzip=True)
    with ours.profiler.profile(on_trace_ready=handler) as prof:
        work(ours)
    prof.export_chrome_trace(tmp_path / 'trace.json')
    plain = json.loads((tmp_path / 'trace.json').read_text())
    file, = (tmp_path / 'traces').iterdir()
    assert file.name.startswith('worker.') and file.name.endswith('.pt.trace.json.gz')
    packed = json.loads(gzip.decompress(file.read_bytes()))
    for trace in plain, packed:
        assert {'forward', 'matmul', 'relu'} <= {event['name'] for event in trace['traceEvents']}
    assert sorted(path.name for path in tmp_path.iterdir()) == ['trace.json', 'traces']


def test_scopes_as_decorators_and_without_a_profile(torch):
    for t in torch, ours:
        @t.profiler.record_function('decorated')
        def compute(n, t=t):
            return t.ones(n) * 2
        assert compute(2).tolist() == [2, 2]
        with t.autograd.profiler.profile() as prof:
            compute(3)
            compute(3)
        assert {event.key: event.count for event in prof.key_averages()}['decorated'] == 2
    with ours.autograd.profiler.profile(enabled=False) as prof:
        compute(3)
    with pytest.raises(RuntimeError, match='nothing was recorded'):
        prof.key_averages()


def test_events_of_the_older_profiler(torch):
    for t in torch, ours:
        with t.autograd.profiler.profile() as prof:
            work(t)
        assert 'forward' in [event.name for event in prof.function_events]
