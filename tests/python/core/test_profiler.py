"""tenon.profiler: what it records, and its forms of output."""
import json
import threading

import pytest

import tenon


def test_calls_are_recorded_with_those_inside():
    x = tenon.randn(8, 8).requires_grad_()
    with tenon.profiler() as p:
        y = tenon.l1_loss(x, tenon.zeros(8, 8))
        y.backward()
        with pytest.raises(ValueError):
            x + tenon.ones(3)
        x.detach().neg()
    ops = [event.op for event in p.events]
    assert 'l1_loss' in ops and ops[-1] == 'neg' and ops.count('add') == 0
    whole = next(event for event in p.events if event.op == 'l1_loss')
    within = [event for event in p.events if event.depth > 0 and whole.start <= event.start and event.end <= whole.end]
    assert within and 0 < whole.inside <= whole.duration and whole.operands == 'f32[8, 8], f32[8, 8]'
    assert any(event.provider == 'cpu' for event in p.events)
    text = p.table()
    assert 'l1_loss' in text and 'self ms' in text and str(p) == text and '… and' in p.table(limit=1)


def test_memory_and_chrome_trace(tmp_path):
    with tenon.profiler() as p:
        x = tenon.ones(1000)
        y = x + 1
    timeline = p.memory()
    assert len(timeline) == len(p.events) and timeline[-1][1] - timeline[0][1] >= y.nbytes
    assert [seconds for seconds, _ in timeline] == sorted(seconds for seconds, _ in timeline)
    p.export_chrome_trace(tmp_path / 'trace.json')
    trace = json.loads((tmp_path / 'trace.json').read_text())['traceEvents']
    assert {entry['name'] for entry in trace} == {'full', 'add', 'memory'} and all(entry['ts'] > 0 for entry in trace)


def test_one_at_a_time_and_only_this_thread():
    with tenon.profiler() as p:
        with pytest.raises(tenon.Error, match='another one'), tenon.profiler():
            pass
        thread = threading.Thread(target=lambda: tenon.ones(3).exp())
        thread.start()
        thread.join()
        tenon.ones(3).log()
    tenon.ones(3).sin()
    assert [event.op for event in p.events] == ['full', 'log']
