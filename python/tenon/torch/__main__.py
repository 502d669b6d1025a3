"""python -m tenon.torch PROGRAM ...: runs a program that is written for PyTorch; its `import torch` finds tenon.torch."""
import argparse
import os
import runpy
import sys

from ._install import install


def main():
    parser = argparse.ArgumentParser(prog='python -m tenon.torch', description=__doc__, epilog='''examples:
  python -m tenon.torch train.py --epochs 3
  python -m tenon.torch -m package.train --epochs 3''', formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument('-m', action='store_true', dest='module', help='PROGRAM is the name of a module')
    parser.add_argument('program', metavar='PROGRAM', help='a file, a folder with __main__.py, or with -m a module')
    parser.add_argument('arguments', metavar='...', nargs=argparse.REMAINDER, help='what the program gets')
    given = parser.parse_args()
    if not given.module:
        if not os.path.exists(given.program):
            parser.error(f'there is no {given.program}')
        sys.path[0] = os.path.dirname(os.path.abspath(given.program))
    install()
    sys.argv = [given.program, *given.arguments]
    if given.module:
        runpy.run_module(given.program, run_name='__main__', alter_sys=True)
    else:
        runpy.run_path(given.program, run_name='__main__')


main()
