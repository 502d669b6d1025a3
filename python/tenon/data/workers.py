"""Processes that make batches: forked for an epoch, they see the dataset as it is, and pass tensors on in shared memory. They may also be
started by a context of multiprocessing, and stay for several epochs.

Worker k mod n makes batch k, and batches are requested in order, so the order never depends on timing. Each request names its examples,
so an order may be endless. A worker writes the elements into anonymous memory of its own and passes the descriptor over a socket, so
nothing is left behind, however it ends.
"""
import errno
import os
import pickle
import random
import signal
import socket
import struct
import sys
import tempfile
import time
import traceback
import weakref
from collections import deque
from typing import Any

import tenon
from .. import _core
from .._core import Tensor, ops
from .sampler import mix

_HEAD = struct.Struct('<Q')  # the message's length in bytes
_ALIGN = 64
_live = weakref.WeakSet()


class WorkerInfo:
    """The result of get_worker_info() inside a worker: id, num_workers, seed, and dataset, the worker's own copy."""

    def __init__(self, number, count, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = number, count, seed, dataset


_info = None


def get_worker_info():
    """The WorkerInfo of this process, None outside workers."""
    return _info


class _Remote(Exception):
    """The traceback of a worker, as text: the cause of the loader's exception."""

    def __str__(self):
        return '\n' + self.args[0]


class _Slot:
    """Stands for a tensor in a message: says where its elements are."""

    def __init__(self, dtype, shape, begin, nbytes):
        self.dtype, self.shape, self.begin, self.nbytes = dtype, shape, begin, nbytes


def _map(value, fn, kind):
    if isinstance(value, kind):
        return fn(value)
    if isinstance(value, dict):
        return {key: _map(item, fn, kind) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        items = [_map(item, fn, kind) for item in value]
        return type(value)(*items) if hasattr(value, '_fields') else type(value)(items)
    return value


def _shared_file():
    if hasattr(os, 'memfd_create'):
        return os.memfd_create('tenon-batch', os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _bytes_of(x):
    try:
        return memoryview(x).cast('B')
    except (BufferError, TypeError, ValueError):  # bfloat16, or not elements at all
        return x.tobytes()


def _write_all(file, data):
    while len(data):
        data = data[os.write(file, data):]


def _send(channel, value):
    tensors, slots, at = [], {}, 0

    def place(x):
        nonlocal at
        slot = slots.get(id(x))
        if slot is None:
            slot = slots[id(x)] = _Slot(x.dtype.name, x.shape, at, x.nbytes)
            tensors.append(ops['contiguous'](x.detach().cpu()))
            at += -(-x.nbytes // _ALIGN) * _ALIGN
        return slot
    message = pickle.dumps(_map(value, place, Tensor))
    head = _HEAD.pack(len(message))
    if at == 0:
        channel.sendall(head + message)
        return
    file = _shared_file()
    try:
        for x in tensors:
            _write_all(file, memoryview(_bytes_of(x)))
            _write_all(file, bytes(-x.nbytes % _ALIGN))
        socket.send_fds(channel, [head], [file])
    finally:
        os.close(file)
    channel.sendall(message)


def _receive_exactly(channel, size):
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        n = channel.recv_into(view[done:])
        if n == 0:
            raise EOFError
        done += n
    return data


def _take(file, slot):
    """A separate tensor copied out of the shared memory; keeping the mapping would keep a descriptor open as well."""
    x = _core._empty(slot.shape, slot.dtype)
    if slot.nbytes == 0:
        return x
    try:
        plain, view = None, memoryview(x).cast('B')
    except BufferError:  # bfloat16, which the buffer protocol lacks
        plain = bytearray(slot.nbytes)
        view = memoryview(plain)
    done = 0
    while done < slot.nbytes:
        n = os.preadv(file, [view[done:]], slot.begin + done)
        if n == 0:
            raise EOFError
        done += n
    return x if plain is None else _core._from_bytes(bytes(plain), slot.dtype, slot.shape)


def _receive(channel) -> Any:
    head, files, _, _ = socket.recv_fds(channel, _HEAD.size, 1)
    if not head:
        raise EOFError
    try:
        if len(head) < _HEAD.size:
            head += bytes(_receive_exactly(channel, _HEAD.size - len(head)))
        length, = _HEAD.unpack(head)
        value = pickle.loads(_receive_exactly(channel, length))
        file = files[0] if files else -1
        made = {}  # a tensor that occurs twice stays one

        def take(slot):
            if id(slot) not in made:
                made[id(slot)] = _take(file, slot)
            return made[id(slot)]
        return _map(value, take, _Slot)
    finally:
        for file in files:
            os.close(file)


def _seed(seed):
    tenon.manual_seed(seed)
    random.seed(seed)
    if 'numpy' in sys.modules:
        sys.modules['numpy'].random.seed(seed & 0xffffffff)


def _describe(error):
    """An exception in a form that fits into a message."""
    text = ''.join(traceback.format_exception(type(error), error, error.__traceback__))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # of a kind that cannot be pickled
        error = RuntimeError(f'{type(error).__name__}: {error}')
    return error, text


_END = object()


def _ask(channel, k, batch):
    """Requests a batch. Long requests go through shared memory; otherwise both ends might wait for room in the socket."""
    message = pickle.dumps((k, batch))
    _send(channel, message if len(message) < 4096 else _core._from_bytes(message, tenon.uint8, (len(message),)))


def _ask_again(channel, seed):
    _send(channel, pickle.dumps(_Again(seed)))


def _asked(channel):
    message = _receive(channel)
    return pickle.loads(message if isinstance(message, bytes) else message.tobytes())


def _maker(number, streams, make, seed):
    """The function that makes batch k in a worker, or _END. seed: of the random numbers of each batch; None leaves them as they are."""
    stream = None

    def of_stream(k, batch):
        nonlocal stream
        if stream is None:
            if seed is not None:
                _seed(mix(seed, number))
            stream = make()
        return next(stream, _END)

    def of_batch(k, batch):
        if seed is not None:
            _seed(mix(seed, k))  # the same for every worker
        return make(batch)
    return of_stream if streams else of_batch


class _Again:
    """The message that begins another epoch."""

    def __init__(self, seed):
        self.seed = seed


def _work(channel, number, count, streams, make, seed, init, dataset, stays=False, reseeds=True):
    """The main loop of a worker: one value for each message."""
    global _info
    _info = WorkerInfo(number, count, mix(seed, number), dataset)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # left to the parent
    _seed(_info.seed)
    try:
        if init is not None:
            init(number)
    except Exception as error:
        _send(channel, ('error', *_describe(error)))
        return
    turn = _maker(number, streams, make, seed if reseeds else None)
    while True:
        try:
            wanted = _asked(channel)
        except EOFError:
            return
        if isinstance(wanted, _Again):
            if reseeds:
                _info.seed = mix(wanted.seed, number)
            turn = _maker(number, streams, make, wanted.seed if reseeds else None)
            _send(channel, ('ready',))
            continue
        try:
            made = turn(*wanted)
            value = ('end',) if made is _END else ('batch', made)
        except Exception as error:
            value = ('error', *_describe(error))
        _send(channel, value)
        if value[0] == 'end' and not stays:
            return


def _serve(channel, *given):
    """The whole life of a worker; the code with which it exits."""
    try:
        _work(channel, *given)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the loop ended early
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _serve_started(*given):
    """The same in a process of multiprocessing."""
    sys.exit(_serve(*given))


class _Forked:
    """A process of os.fork(), with the methods of multiprocessing's that are called here."""

    def __init__(self, pid):
        self.pid, self._code = pid, None

    @property
    def exitcode(self):
        """None while it runs; negative for a signal."""
        if self._code is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self._code = os.waitstatus_to_exitcode(status) if pid else None
            except ChildProcessError:  # someone else has waited for it
                self._code = 0
        return self._code

    def kill(self):
        """Sends SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)

    def join(self):
        """Waits for its end."""
        while self.exitcode is None:
            time.sleep(0.001)


def _stop(owner, workers, channels):
    """Ends workers: closing the sockets tells them, and those that do not react are killed."""
    if os.getpid() != owner:
        return  # a copy in a child process, which does not own the workers
    for channel in channels:
        channel.close()
    channels.clear()
    until = time.monotonic() + 0.5
    while workers:
        for worker in list(workers):
            if worker.exitcode is None and time.monotonic() > until:
                worker.kill()
                worker.join()
            if worker.exitcode is not None:
                workers.remove(worker)
        if workers:
            time.sleep(0.002)


def _at_most(count, batches):
    """How many workers have anything to do."""
    try:
        return min(count, len(batches))
    except TypeError:  # it has no end, or does not know it
        return count


def _raise(error, text, number):
    """Raises the exception of a worker, with the worker's traceback as its cause."""
    raise error from _Remote(text)


class Epoch:
    """An iterator over batches that worker processes make ahead.

    make(b) makes batch k from the k-th entry b of `batches`, an iterable. If `batches` is None, each worker iterates over make() on its
    own, and they take turns. context: of multiprocessing, which starts the workers; without one they are forked. stays: the workers wait
    for again(). failed(error, traceback, worker) raises the error of a worker. reseeds: random numbers begin anew with each batch, and do not
    depend on the number of workers; otherwise each worker is seeded once, before init(worker), which may seed them itself.
    """

    def __init__(self, batches, make, num_workers, prefetch, seed, init=None, timeout=0, dataset=None, context=None, stays=False, failed=_raise,
                 reseeds=True):
        if context is None and not hasattr(os, 'fork'):
            raise tenon.UnimplementedError('[DataLoader] workers need os.fork, which this system lacks: use num_workers=0')
        self._streams, self._timeout, self._prefetch, self._stays, self._failed = batches is None, timeout, prefetch, stays, failed
        self._workers, self._channels = [], []
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, _stop, self._owner, self._workers, self._channels)
        _live.add(self)
        for number in range(num_workers if stays else _at_most(num_workers, batches)):
            self._start(context, (number, num_workers, self._streams, make, seed, init, dataset, stays, reseeds))
        self._begin(batches)

    def _begin(self, batches):
        count = len(self._channels)
        self._batches, self._next = None if batches is None else iter(batches), 0
        self._asked, self._turn = 0, deque(range(count))
        for k in range(count * self._prefetch):
            self._ask(k % count)

    def again(self, batches, seed):
        """The next epoch with the same workers; what they still make for this one is dropped. False if they have ended."""
        if not self._channels:
            return False
        for number, channel in enumerate(self._channels):
            _ask_again(channel, seed)
            while self._receive(number)[0] != 'ready':
                pass
        self._begin(batches)
        return True

    def _start(self, context, given):
        ours, theirs = socket.socketpair()
        if context is None:
            self._workers.append(_Forked(self._fork(ours, theirs, given)))
        else:
            worker = context.Process(target=_serve_started, args=(theirs, *given), daemon=True)
            try:
                worker.start()
            except BaseException:
                self.close()
                raise
            self._workers.append(worker)
        theirs.close()
        self._channels.append(ours)

    def _fork(self, ours, theirs, given):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        pid = os.fork()
        if pid:
            return pid
        code = 1
        try:
            ours.close()
            for epoch in list(_live):  # otherwise its workers would not notice when the parent ends
                for channel in epoch._channels:
                    channel.close()
            code = _serve(theirs, *given)
        finally:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            finally:
                os._exit(code)

    def _ask(self, number):
        batch = None if self._batches is None else next(self._batches, _END)
        try:
            if batch is _END:
                if not self._stays:
                    self._channels[number].shutdown(socket.SHUT_WR)  # it ends once it has made what was requested
                return
            self._asked += 1
            _ask(self._channels[number], self._asked - 1, batch)
        except (BrokenPipeError, ConnectionResetError):
            pass  # noticed when its batch is due
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                raise

    def __iter__(self):
        return self

    def __next__(self):
        if os.getpid() != self._owner:
            raise RuntimeError('[DataLoader] an iterator of the parent process: make one in this process')
        while self._turn and self._channels and (self._batches is None or self._next < self._asked):
            number = self._turn[0]
            kind, *value = self._receive(number)
            if kind == 'end':
                self._turn.popleft()
                continue
            self._next += 1
            if kind == 'error':
                self.close()
                self._failed(*value, number)
            self._turn.rotate(-1)
            self._ask(number)
            return value[0]
        if not self._stays:
            self.close()
        raise StopIteration

    def _receive(self, number):
        """The next message from a worker."""
        channel = self._channels[number]
        channel.settimeout(self._timeout or None)
        try:
            return _receive(channel)
        except TimeoutError:
            self.close()
            raise TimeoutError(f'[DataLoader] worker {number} gave no batch within {self._timeout} s') from None
        except (EOFError, ConnectionResetError):
            raise RuntimeError(self._obituary(number)) from None
        except BaseException:  # such as KeyboardInterrupt in the middle of a message
            self.close()
            raise

    def _obituary(self, number):
        worker = self._workers[number]
        worker.join()
        code = worker.exitcode
        end = f'was killed by {signal.Signals(-code).name}' if code < 0 else f'exited with code {code}'
        self.close()
        return f'[DataLoader] worker {number} {end} before it gave batch {self._next}'

    def close(self):
        """Ends the workers; a second call does nothing."""
        self._finalizer()
