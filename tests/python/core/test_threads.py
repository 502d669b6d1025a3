"""How many threads ops use."""
import os
import subprocess
import sys

import pytest

import tenon


@pytest.fixture(autouse=True)
def number():
    before = tenon.num_threads()
    yield
    tenon.set_num_threads(before)


def test_the_number_is_kept():
    tenon.set_num_threads(3)
    assert tenon.num_threads() == 3
    x = tenon.ones(512, 512)
    many = (x @ x).sum().item()
    tenon.set_num_threads(n=1)
    assert tenon.num_threads() == 1 and (x @ x).sum().item() == many == 512 ** 3


@pytest.mark.parametrize('n', [0, -1, 1025, 2 ** 62])
def test_a_wrong_number_is_refused(n):
    before = tenon.num_threads()
    with pytest.raises(tenon.InvalidArgumentError, match=rf'\[set_num_threads\] n is {n}; it must be from 1 to 1024'):
        tenon.set_num_threads(n)
    assert tenon.num_threads() == before


@pytest.mark.parametrize('n', [1.5, '2', None, 2 ** 64])
def test_values_that_are_no_number_are_refused(n):
    with pytest.raises(TypeError):
        tenon.set_num_threads(n)


def first_number(**env):
    clean = {name: value for name, value in os.environ.items() if name not in ('TENON_NUM_THREADS', 'OMP_NUM_THREADS')}
    done = subprocess.run([sys.executable, '-c', 'import tenon; print(tenon.num_threads())'], env={**clean, **env},
                          capture_output=True, text=True, check=True, timeout=60)
    return int(done.stdout), done.stderr


def test_the_environment_sets_the_initial_number():
    cores = len(os.sched_getaffinity(0))
    assert first_number() == (cores, '')
    assert first_number(OMP_NUM_THREADS='5,2') == (5, '')
    assert first_number(TENON_NUM_THREADS='7', OMP_NUM_THREADS='5') == (7, '')
    assert first_number(TENON_NUM_THREADS='99999') == (1024, '')
    for wrong in ('0', '-3', 'many', '', '2x'):
        assert first_number(TENON_NUM_THREADS=wrong) == \
            (cores, f'tenon: warning: TENON_NUM_THREADS={wrong} is no number of threads and is ignored\n')


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='this system has no fork')
def test_a_forked_child_has_one_thread_until_it_asks_for_more():
    program = '''
import os, sys, tenon
tenon.set_num_threads(4)
x = tenon.ones(512, 512)
total = (x @ x).sum().item()
child = os.fork()
if child == 0:
    alone = tenon.num_threads() == 1 and (x @ x).sum().item() == total and len(os.listdir('/proc/self/task')) == 1
    tenon.set_num_threads(3)
    os._exit(0 if alone and (x @ x).sum().item() == total and len(os.listdir('/proc/self/task')) > 1 else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
'''
    assert subprocess.run([sys.executable, '-c', program], timeout=60).returncode == 0


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='this system has no fork')
def test_a_process_forks_while_threads_load_plugins_and_compute():
    program = '''
import os, sys, threading, tenon
def work():
    for n in range(100, 140):
        tenon.rand(n, n) @ tenon.rand(n, n)
threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads: each.start()
for _ in range(8):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0: sys.exit(1)
for each in threads: each.join()
'''
    assert subprocess.run([sys.executable, '-c', program], timeout=120).returncode == 0


REPLACED = '''
import threading, time
import tenon
x, others, end = tenon.zeros(20000), [tenon.full((20000,), float(i)) for i in range(4)], time.time() + 1
def read():
    while time.time() < end:
        x.detach()
        (x * 2).sum().item()
def write():
    i = 0
    while time.time() < end:
        x.data = others[i % 4]
        x.unsqueeze_(0).squeeze_(0).resize_(7 if i % 5 == 0 else 20000)
        i += 1
threads = [threading.Thread(target=f) for f in (read, read, write)]
for each in threads: each.start()
for each in threads: each.join()
'''
LEFT_ALONE = '''
import threading, time
import tenon
def work():
    while True:
        (tenon.ones(5000) * 2).sum()
threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
'''


@pytest.mark.parametrize('program', [REPLACED, LEFT_ALONE], ids=['memory is replaced under a reader', 'a daemon computes at exit'])
def test_threads_do_not_end_the_process(program):
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr
