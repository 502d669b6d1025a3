"""Attributes that a program sets on tensors: they belong to the Python object."""
import gc
import weakref

import pytest

import tenon


def test_attributes_are_kept():
    x = tenon.ones(3)
    assert x.__dict__ == {}
    x.tag, x.other = 'a', [1]
    assert x.tag == 'a' and vars(x) == {'tag': 'a', 'other': [1]}
    del x.tag
    assert not hasattr(x, 'tag')


def test_parameters_have_them_too():
    x = tenon.nn.Parameter(tenon.ones(2))
    x.is_shared_by_all = True
    assert x.is_shared_by_all


def test_objects_that_are_used_again_begin_without():
    for number in range(100):
        x = tenon.ones(3)
        assert not x.__dict__
        x.number = number
        del x


class Kept:
    tensor = None


def circle(hooked):
    """A weak reference to an object that a tensor keeps, which keeps the tensor."""
    x, kept = tenon.ones(3), Kept()
    x.requires_grad = hooked
    if hooked:
        x.register_hook(lambda grad: kept)
    x.me, x.kept, kept.tensor = x, kept, x
    return weakref.ref(kept)


@pytest.mark.parametrize('hooked', [False, True])
def test_circles_are_collected(hooked):
    gone = circle(hooked)
    gc.collect()
    assert gone() is None


def test_what_is_no_attribute_of_a_program_stays_read_only():
    with pytest.raises(AttributeError):
        tenon.ones(1).shape = 3
    with pytest.raises(AttributeError, match='nothing_like_it'):
        tenon.ones(1).nothing_like_it
