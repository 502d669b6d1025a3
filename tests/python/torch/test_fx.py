"""torch.fx where PyTorch's is different or says less: errors, what is taken back after a trace, graphs made and broken by hand."""
import pickle

import pytest

import tenon.torch as torch
from tenon.torch import fx, nn
from tenon.torch.nn.functional import gelu


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x, scale=1.0):
        return gelu(self.fc(x)) * scale


def lone(x):
    return nn.Linear(1, 1)(x)


def test_a_trace_leaves_everything_as_it_was():
    before = torch.add, torch.Tensor.expand, torch.Tensor.narrow, nn.Module.__call__, globals()['gelu'], torch.stft
    fx.symbolic_trace(Net())
    with pytest.raises(fx.proxy.TraceError):
        fx.symbolic_trace(lambda x: 1 if x > 0 else 2)
    assert before == (torch.add, torch.Tensor.expand, torch.Tensor.narrow, nn.Module.__call__, globals()['gelu'], torch.stft)
    assert gelu(torch.zeros(1)).item() == 0


def test_functions_imported_by_name_are_recorded_whole():
    graph = fx.symbolic_trace(Net()).graph
    assert [str(node.target) if node.op != 'call_function' else node.target.__name__ for node in graph.nodes] == ['x', 'scale', 'fc', 'gelu', 'mul', 'output']
    assert 'torch.nn.functional.gelu(fc)' in graph.python_code('self').src


def test_results_and_gradients_are_those_of_the_module():
    net, x = Net(), torch.randn(4, 3)
    traced = fx.symbolic_trace(net)
    assert torch.equal(traced(x, 2.0), net(x, 2.0)) and traced.fc.weight is net.fc.weight
    traced(x).sum().backward()
    assert net.fc.weight.grad is not None


def test_arguments_of_every_kind():
    def function(x, y=1, *more, k=2, **named):
        return x + y + more[0] * k + named['a']
    traced = fx.symbolic_trace(function)
    assert [node.target for node in traced.graph.nodes if node.op == 'placeholder'] == ['x', 'y', 'k', '*more', '**named']
    assert traced(1, 2, 3, 4, a=5) == 1 + 2 + 4 * 3 + 5 and traced.code.count('_more = more') == 1


def test_a_pickle_runs_the_same():
    traced, x = fx.symbolic_trace(Net()), torch.randn(2, 3)
    again = pickle.loads(pickle.dumps(traced))
    assert torch.equal(again(x), traced(x)) and type(again).__name__ == 'Net' and again.code == traced.code


@pytest.mark.parametrize('function,error,text', [
    (list, fx.proxy.TraceError, 'iterated'), (len, RuntimeError, 'fx.wrap'), (lone, NameError, 'no submodule'),
    (lambda x: x + object(), NotImplementedError, 'override create_arg')])
def test_what_cannot_be_recorded_says_so(function, error, text):
    with pytest.raises(error, match=text):
        fx.symbolic_trace(lambda x: function(x))


def test_graphs_are_checked():
    graph = fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph
    x, relu, add, _ = graph.nodes
    with pytest.raises(RuntimeError, match='relu is used by add'):
        graph.erase_node(relu)
    relu.append(x)
    with pytest.raises(RuntimeError, match='before it has been defined'):
        graph.lint()
    with pytest.raises(ValueError, match='call_function takes a function'):
        graph.create_node('call_function', 'relu', (x,))
    with pytest.raises(RuntimeError, match='another graph'):
        fx.Graph().call_function(torch.relu, (add,))
    with pytest.raises(RuntimeError, match='which the dict lacks'):
        fx.GraphModule({}, fx.symbolic_trace(Net()).graph)


def test_patterns_with_inner_uses_stay():
    traced = fx.symbolic_trace(lambda x: (torch.relu(x.exp()), x.exp() + torch.relu(x).exp()))
    assert len(fx.replace_pattern(traced, lambda x: torch.relu(x.exp()), lambda x: torch.sigmoid(x))) == 1
    shared = fx.symbolic_trace(lambda x: (lambda y: torch.relu(y) + y)(x.exp()))
    assert not fx.replace_pattern(shared, lambda x: torch.relu(x.exp()), lambda x: torch.sigmoid(x))
    x = torch.tensor([0.5])
    assert torch.equal(traced(x)[0], torch.sigmoid(x))


def test_a_proxy_appends_to_another_graph():
    def relu(x):
        return (x > 0) * x
    old, new, made = fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph, fx.Graph(), {}
    tracer = fx.proxy.GraphAppendingTracer(new)
    for node in old.nodes:
        made[node] = relu(fx.Proxy(made[node.args[0]], tracer)).node if node.target is torch.relu else new.node_copy(node, made.__getitem__)
    assert isinstance(tracer, fx.proxy.TracerBase) and [node.name for node in new.nodes] == ['x', 'gt', 'mul', 'add', 'output']
    assert fx.GraphModule(nn.Module(), new)(torch.tensor([-1.0, 2.0])).tolist() == [1, 3]


def test_a_table_is_as_wide_as_pytorch_makes_it(capsys):
    fx.symbolic_trace(lambda x: -x).graph.print_tabular()
    assert capsys.readouterr().out.split('\n')[1] == '  '.join('-' * width for width in (13, 6, 23, 6, 8))
