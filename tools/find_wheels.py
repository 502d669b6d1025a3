#!/usr/bin/env python3
"""Prints the prefix under which pip has put oneDNN's headers and library, for a build whose packages lie anywhere."""
import importlib.metadata
import sys

try:
    files = importlib.metadata.files('onednn-devel-cpu-gomp') or []
except importlib.metadata.PackageNotFoundError:
    sys.exit('the package onednn-devel-cpu-gomp is not installed (tools/setup/requirements.txt)')
for file in files:
    if file.name == 'dnnl.hpp':
        header = file.locate().resolve()
        prefix = header.parent.parent if header.parent.name == 'include' else header.parent.parent.parent
        print(prefix)
        break
else:
    sys.exit('the package onednn-devel-cpu-gomp has no dnnl.hpp')
