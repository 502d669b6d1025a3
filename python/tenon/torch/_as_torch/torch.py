"""`import torch` where this folder is on the path, as in processes that a program starts: tenon.torch takes the name."""
from tenon.torch._install import install

install()
