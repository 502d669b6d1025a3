"""Random numbers of torch.cuda: all devices draw from one generator, the default one."""
import tenon.torch.cuda as cuda

from .. import random

__all__ = ['default_generators', 'get_rng_state', 'get_rng_state_all', 'initial_seed', 'manual_seed', 'manual_seed_all', 'seed', 'seed_all', 'set_rng_state',
           'set_rng_state_all']


default_generators = (random.default_generator,) * cuda.device_count()


def manual_seed(seed):
    """torch.manual_seed()."""
    random.manual_seed(seed)


manual_seed_all = manual_seed


def seed():
    """torch.seed() if there is a device."""
    if cuda.is_available():
        random.seed()


seed_all = seed


def initial_seed():
    """torch.initial_seed()."""
    cuda._device(None)
    return random.initial_seed()


def get_rng_state(device='cuda'):
    """torch.get_rng_state()."""
    cuda._device(device)
    return random.get_rng_state()


def get_rng_state_all():
    """The state, once for each device."""
    return [random.get_rng_state() for _ in range(cuda.device_count())]


def set_rng_state(new_state, device='cuda'):
    """torch.set_rng_state()."""
    cuda._device(device)
    random.set_rng_state(new_state)


def set_rng_state_all(new_states):
    """Sets the state of the generator to the last of these."""
    for state in new_states:
        random.set_rng_state(state)
