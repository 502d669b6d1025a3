import importlib.util
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
# The environment with PyTorch has no onnx, and nothing here is compared with PyTorch.
if importlib.util.find_spec('onnx') is None and importlib.util.find_spec('torch') is not None:
    collect_ignore_glob = ['test_*.py']
