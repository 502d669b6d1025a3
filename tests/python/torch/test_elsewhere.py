"""Scripts on devices whose memory the host cannot address give what they give on the host."""
import copy
import io
import pickle
import subprocess
import sys

import pytest

import tenon
import tenon.torch as torch
from tenon.torch import nn
from tenon.torch.nn import functional as F

ELSEWHERE = [str(device) for device in tenon.devices() if device.type != 'cpu']


def draw(*shape, d):
    return torch.randn(*shape).to(d)


def net(d):
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)).to(d)


def indexed_from_the_host(d):
    x = draw(5, 3, d=d)
    rows, mask = torch.tensor([0, 2]), torch.tensor([True, False, True, False, True])
    y = [x[rows], x[mask], x[rows, 1]]
    x[rows] = 1.0
    x[mask, 0] = torch.tensor([1.0, 2.0, 3.0], device=d)
    return [*y, x]


def numbers_from_the_host(d):
    x, two = draw(5, 3, d=d), torch.tensor(2.0)
    y = [x * two, two - x, torch.where(x > 0, x, two), torch.lerp(x, x + 1, 0.25)]
    x.add_(two)
    x[0] = two
    x.masked_fill_(x > 2.5, torch.tensor(3.0))
    return [*y, x]


def rows_of_a_dataset(d):
    data = torch.utils.data.TensorDataset(draw(10, 3, d=d), torch.arange(10, device=d))
    return [part for shuffle in (False, True) for batch in torch.utils.data.DataLoader(data, 4, shuffle=shuffle) for part in batch]


def pinned_batches(d):
    data = torch.utils.data.TensorDataset(torch.randn(6, 3), torch.arange(6))
    return [x.to(d, non_blocking=True) for batch in torch.utils.data.DataLoader(data, 4, pin_memory=True) for x in batch]


def ctc_with_lengths_on_the_host(d):
    x = draw(6, 2, 5, d=d).requires_grad_()
    labels = torch.tensor([[1, 2, 3], [4, 1, 0]], device=d)
    loss = F.ctc_loss(x.log_softmax(2), labels, torch.tensor([6, 5]), torch.tensor([3, 2]))
    loss.backward()
    return [loss, x.grad]


def packed_sequences(d):
    lstm = nn.LSTM(4, 6, 2, batch_first=True, bidirectional=True).to(d)
    packed = nn.utils.rnn.pack_padded_sequence(draw(3, 5, 4, d=d), torch.tensor([5, 3, 2]), batch_first=True)
    out, lengths = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)
    out.square().sum().backward()
    return [out, lengths, lstm.weight_ih_l0.grad]


def parts_of_complex_numbers(d):
    x = torch.complex(draw(3, d=d), draw(3, d=d))
    return [x.real, x.imag, x.abs(), torch.view_as_real(x)]


def checkpoints(d):
    model = net(d)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    x = draw(5, 8, d=d)

    def step():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach()
    losses = [step(), step()]
    file = io.BytesIO()
    torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict()}, file)
    losses.append(step())
    for where in (None, 'cpu'):
        file.seek(0)
        saved = torch.load(file, map_location=where)
        model.load_state_dict(saved['model'])
        optimizer.load_state_dict(saved['optimizer'])
        losses.append(step())
    return losses


def copies_of_models(d):
    model, x = net(d), draw(2, 8, d=d)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return [one(x) for one in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.load(file, weights_only=False))]


def graphs(d):
    model, x = net(d).eval(), draw(3, 8, d=d)
    traced = tenon.graph.trace(model, x)
    anywhere = tenon.graph.trace(model, x, dynamic={0: {0: 'rows'}})
    with torch.no_grad():
        return [traced(x), anywhere(x[:2]), torch.compile(model)(x), torch.jit.trace(model, x)(x)]


def addresses(d):
    x = draw(3, 4, d=d)
    facts = x[1].data_ptr() - x.data_ptr(), x.clone().data_ptr() != x.data_ptr(), x.detach().data_ptr() == x.data_ptr(), x.data_ptr() != 0
    return [torch.tensor([int(fact) for fact in facts])]


def mixed_precision(d):
    model, x = net(d), draw(4, 8, d=d)
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler(torch.device(d).type)
    with torch.autocast(torch.device(d).type, dtype=torch.bfloat16):
        loss = model(x).float().square().mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return [torch.tensor(float(loss)), torch.tensor(scaler.get_scale())]


SCRIPTS = {f.__name__: f for f in (
    indexed_from_the_host, numbers_from_the_host, rows_of_a_dataset, pinned_batches, ctc_with_lengths_on_the_host, packed_sequences,
    parts_of_complex_numbers, checkpoints, copies_of_models, graphs, addresses, mixed_precision)}


@pytest.mark.parametrize('device', ELSEWHERE)
@pytest.mark.parametrize('name', SCRIPTS)
def test_scripts_run_elsewhere(name, device):
    torch.manual_seed(0)
    expected = SCRIPTS[name]('cpu')
    torch.manual_seed(0)
    found = SCRIPTS[name](device)
    assert len(found) == len(expected) > 0
    tolerance = 2e-2 if name == 'mixed_precision' else 1e-4
    for ours, theirs in zip(found, expected):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=tolerance, atol=tolerance)


CHILD = '''
import os, sys
import tenon.torch as torch
device = sys.argv[1]
x = torch.ones(3, device=device)
for use in (lambda: x.sum().item(), lambda: torch.zeros(2, device=device), lambda: x.cpu(), lambda: torch.ones(2).to(device)):
    pid = os.fork()
    if not pid:
        try:
            use()
        except RuntimeError as error:
            sys.exit(3 if "before this process forked" in str(error) else 4)
        sys.exit(5)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
try:
    list(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x), num_workers=1))
except RuntimeError as error:
    assert "before this process forked" in str(error), error
else:
    raise SystemExit("no error")
assert x.sum().item() == 3
'''


@pytest.mark.parametrize('device', ELSEWHERE)
def test_a_child_is_told_that_the_driver_stayed_behind(device):
    subprocess.run([sys.executable, '-c', CHILD, device], check=True, timeout=300)
