"""Passes over graphs."""
from . import shape_prop as shape_prop
