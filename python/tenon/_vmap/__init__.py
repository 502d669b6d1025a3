"""vmap: a function of one entry runs once, over tensors that stand for all entries of a batch.

`level.py` has the scope in which such tensors are known and the gradients through them, `call.py` the call that a rule sees, and the
other files the rules, which compute an op on whole batches. An op without a rule runs entry by entry, with a warning.
"""
from . import backward, call, draws, elementwise, losses, picking, products, recurrent, reductions, views, windows
from .call import moved, op_of
from .functions import by_own_rule, record
from .level import Level, gradient, gradients_of_rows, is_active, leaf, unit_rows

# Importing them puts their rules into call.RULES.
FAMILIES = backward, draws, elementwise, losses, picking, products, recurrent, reductions, views, windows

__all__ = ['FAMILIES', 'Level', 'by_own_rule', 'call', 'gradient', 'gradients_of_rows', 'is_active', 'leaf', 'moved', 'op_of', 'record', 'unit_rows']
