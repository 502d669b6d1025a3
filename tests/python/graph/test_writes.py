"""Compiled functions that write into arguments and outside tensors, as a cache of keys and values is written."""
import warnings

import pytest
import tenon
from tenon import nn

F = nn.functional


def both(build, calls, compiled=True, **options):
    """Runs calls(fn, of) of two equal builds, one of them compiled, without gradients: results and what was written must be equal."""
    results = []
    for wanted in False, True:
        tenon.manual_seed(0)
        fn, of = build()
        run = tenon.compile(fn, **options) if wanted else fn
        found = []
        with tenon.no_grad(), warnings.catch_warnings():
            warnings.simplefilter('error' if compiled else 'ignore')
            for i, call in enumerate(calls):
                tenon.manual_seed(i)
                found.append([one.tolist() for one in (call(run, of), *of)])
        results.append(found)
        if wanted:
            assert run._refused != compiled
    assert results[0] == results[1]
    return run


def rows(count=2):
    return tenon.randn(count, 3)


class TestOutsideTensors:
    def test_a_counter(self):
        def build():
            count = tenon.zeros(1)

            def fn(x):
                count.add_(1)
                return x * 2
            return fn, [count]
        both(build, [lambda fn, _: fn(rows())] * 4)

    def test_slices_of_a_cache(self):
        def build():
            cache, at = tenon.zeros(6, 3), 1

            def fn(x):
                cache[at:at + 2] = x
                cache[:, 1].mul_(2)
                return cache[at:].sum(0) @ x.T
            return fn, [cache]
        both(build, [lambda fn, _: fn(rows())] * 4)

    def test_attributes_and_lists(self):
        class Mean(nn.Module):
            def __init__(self):
                super().__init__()
                self.sums, self.linear = [tenon.zeros(3), tenon.zeros(1)], nn.Linear(3, 3)

            def forward(self, x):
                self.sums[0] += self.linear(x).sum(0)
                self.sums[1] += x.shape[0]
                return self.sums[0] / self.sums[1]

        def build():
            net = Mean()
            return net, net.sums
        both(build, [lambda fn, _: fn(rows(2)), lambda fn, _: fn(rows(5))] * 3)
        both(build, [lambda fn, _, n=n: fn(rows(n)) for n in (2, 5, 9, 3, 30)], dynamic=True)

    def test_what_is_made_inside_stays_inside(self):
        def build():
            def fn(x):
                total = tenon.tensor([1.0, 2.0, 3.0])
                total += x.sum(0)
                return total
            return fn, []
        both(build, [lambda fn, _: fn(rows())] * 4)

    def test_gradients_that_are_left_behind(self):
        def build():
            weight = tenon.ones(3, requires_grad=True)
            count = tenon.zeros(1)

            def fn(x):
                count.add_(1)
                with tenon.enable_grad():
                    loss = (x * weight).sum()
                    loss.backward()
                return weight.grad.clone()
            return fn, [count]
        both(build, [lambda fn, _: fn(rows())] * 4, compiled=False)

    def test_a_trace_refuses(self):
        count = tenon.zeros(2)
        with pytest.raises(tenon.PreconditionError, match='writes into count, which is from outside'):
            tenon.graph.trace(lambda x: (count[1:].add_(1), x * 2)[1], tenon.ones(2))
        assert count.tolist() == [0, 0]


def put(x, cache, at):
    cache[at:at + x.shape[0]] = x
    return cache[:at + x.shape[0]].mean(0)


def start():
    return put, [tenon.zeros(40, 3)]


class TestArguments:
    def test_slices(self):
        run = both(start, [lambda fn, of: fn(rows(), of[0], 4)] * 5)
        assert len(run._programs) == 1

    def test_another_tensor_each_time(self):
        both(start, [lambda fn, of: fn(rows(), of[0], 4), lambda fn, of: fn(rows(), tenon.zeros(40, 3), 4)] * 3)

    def test_the_result_is_the_argument(self):
        def build():
            def fn(x, cache):
                cache += x
                return cache
            return fn, [tenon.zeros(2, 3)]

        def call(fn, of):
            found = fn(rows(), of[0])
            assert found.data_ptr == of[0].data_ptr
            return found
        both(build, [call] * 4)

    def test_versions_rise(self):
        with tenon.no_grad():
            run, cache = tenon.compile(put), tenon.zeros(40, 3)
            run(rows(), cache, 0)
            weight = tenon.ones(40, 3, requires_grad=True)
        cache = tenon.zeros(40, 3)
        loss = (weight * cache).sum()
        with tenon.no_grad():
            run(rows(), cache, 0)
        with pytest.raises(tenon.PreconditionError, match='changed|written|version'):
            loss.backward()

    @pytest.mark.parametrize('given', [
        lambda: (tenon.zeros(3, 40).T, rows()),                           # not contiguous
        lambda: (lambda cache: (cache, cache[1:3]))(tenon.zeros(40, 3)),  # they share memory
    ], ids=['strided', 'shared'])
    def test_what_a_program_cannot_write_runs_as_written(self, given):
        run = tenon.compile(put)
        with tenon.no_grad():
            run(rows(), tenon.zeros(40, 3), 2)
            for _ in range(2):
                tenon.manual_seed(0)
                cache, x = given()
                tenon.manual_seed(0)
                same, again = given()
                assert run(x, cache, 2).tolist() == put(again, same, 2).tolist()
                assert cache.tolist() == same.tolist()
        assert not run._refused

    def test_an_argument_that_is_a_weight_too(self):
        cache = tenon.zeros(3)

        def fn(x, to):
            to += x
            return to * cache
        run = tenon.compile(fn)
        with tenon.no_grad():
            assert run(tenon.ones(3), tenon.zeros(3)).tolist() == [0, 0, 0]
            assert run(tenon.ones(3), cache).tolist() == [1, 1, 1]
            assert run(tenon.ones(3), cache).tolist() == [4, 4, 4]

    def test_saved(self, tmp_path):
        run = tenon.compile(put)
        with tenon.no_grad():
            run(rows(), tenon.zeros(40, 3), 2)
        (program,) = run._programs.values()
        program.save(tmp_path / 'put.safetensors')
        loaded, cache, same, x = tenon.graph.load(tmp_path / 'put.safetensors'), tenon.zeros(40, 3), tenon.zeros(40, 3), rows()
        assert loaded(x, cache).tolist() == put(x, same, 2).tolist()
        assert cache.tolist() == same.tolist()
        with pytest.raises(tenon.PreconditionError, match='input1.*is not contiguous'):
            loaded(x, tenon.zeros(3, 40).T)
        with pytest.raises(tenon.Error, match='writes into input input1'):
            tenon.onnx.export(program, (), tmp_path / 'put.onnx')


class TestGrowingCaches:
    def test_the_place_as_a_size(self):
        run = both(start, [lambda fn, of, at=at: fn(rows(1), of[0], at) for at in range(40)], dynamic={'at': tenon.graph.Dim('at', max=39)})
        assert len({id(program) for program in run._programs.values()}) == 2  # the first, at 0, has its own

    def test_sizes_that_are_met_again_run_the_program(self):
        run, calls, cache = tenon.compile(put, dynamic={'at': tenon.graph.Dim('at', max=39)}), [], tenon.zeros(40, 3)
        with tenon.no_grad():
            for at in range(40):
                run(rows(1), cache, at)
            run._fn = lambda *args: calls.append(args) or put(*args)
            for at in range(40):
                run(rows(1), cache, at)
        assert calls == []

    def test_by_name_and_with_rows(self):
        calls = [lambda fn, of, n=n, at=at: fn(rows(n), of[0], at=at) for at, n in ((0, 7), (7, 1), (8, 1), (9, 4), (13, 2), (15, 1), (16, 1), (17, 9))]
        both(start, calls, dynamic={'at': tenon.graph.Dim('at', max=30), 'x': {0: tenon.graph.Dim('n', max=9)}})

    def test_wrong_names(self):
        with pytest.raises(ValueError, match="'where', which is no argument"):
            tenon.compile(put, dynamic={'where': 'at'})

    def test_attention_over_earlier_tokens(self):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.qkv, self.out, self.norm = nn.Linear(16, 48), nn.Linear(16, 16), nn.LayerNorm(16)

            def forward(self, x, cache, at):
                n = x.shape[0]
                q, k, v = (part.reshape(n, 2, 8).transpose(0, 1) for part in self.qkv(self.norm(x)).chunk(3, -1))
                cache[0][:, at:at + n], cache[1][:, at:at + n] = k, v
                y = tenon.attention(q[None], cache[0][None, :, :at + n], cache[1][None, :, :at + n], causal=n > 1)[0][0]
                return x + self.out(y.transpose(0, 1).reshape(n, 16))

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.blocks, self.embedding = nn.ModuleList([Block() for _ in range(3)]), nn.Embedding(30, 16)

            def forward(self, tokens, caches, at):
                x = self.embedding(tokens)
                for block, cache in zip(self.blocks, caches):
                    x = block(x, cache, at)
                return x @ self.embedding.weight.T

        def build():
            net = Net()
            caches = [(tenon.zeros(2, 64, 8), tenon.zeros(2, 64, 8)) for _ in net.blocks]
            state = [one for cache in caches for one in cache]
            at, tokens = [0], [[3, 1, 4]]

            def call(fn, _):
                logits = fn(tenon.tensor(tokens[0]), caches, at[0])[-1]
                at[0] += len(tokens[0])
                tokens[0] = [logits.argmax().item()]
                return logits
            return net, [*state, call]

        results = []
        for compiled in False, True:
            tenon.manual_seed(0)
            net, (*state, call) = build()
            fn = tenon.compile(net, dynamic={'at': tenon.graph.Dim('at', max=63)}) if compiled else net
            with tenon.no_grad():
                results.append([[call(fn, None).tolist() for _ in range(60)], [one.tolist() for one in state]])
            assert not compiled or (len(fn._sized) == 2 and not fn._refused)
        assert results[0] == results[1]
