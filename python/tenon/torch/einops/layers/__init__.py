"""Modules that rearrange: see layers.torch."""
