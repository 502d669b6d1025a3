#!/usr/bin/env python3
"""Prints where pip has put what the build takes out of wheels.

usage: find_wheels.py                            the prefix of oneDNN's headers and library, wherever its package lies
       find_wheels.py PREFIX PACKAGE FILE        the folder of a package's FILE: in the environment PREFIX, or in this interpreter's
"""
import importlib.metadata
import pathlib
import sys


def files_of(package, path=None):
    try:
        found = importlib.metadata.distribution(package) if path is None else next(
            iter(importlib.metadata.distributions(name=package, path=path)), None)
    except importlib.metadata.PackageNotFoundError:
        found = None
    return [] if found is None else found.files or []


def dnnl_prefix():
    for file in files_of('onednn-devel-cpu-gomp'):
        if file.name == 'dnnl.hpp':
            header = file.locate().resolve()
            return header.parent.parent if header.parent.name == 'include' else header.parent.parent.parent
    sys.exit('the package onednn-devel-cpu-gomp is not installed, or has no dnnl.hpp (tools/setup/requirements.txt)')


def folder_of(prefix, package, name):
    inside = [str(path) for path in pathlib.Path(prefix).glob('lib/python3*/site-packages')]
    for file in files_of(package, inside) or files_of(package):
        if file.name == name:
            return file.locate().resolve().parent
    sys.exit(f'the package {package} is not installed, or has no {name}: ./dev installs it (tools/setup/requirements.txt)')


if __name__ == '__main__':
    print(folder_of(*sys.argv[1:]) if sys.argv[1:] else dnnl_prefix())
