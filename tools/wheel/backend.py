"""What pip calls to build the wheel: meson-python with ./dev's compiler cache, and a message for those who wait."""
import os
import pathlib
import shutil

import mesonpy
from mesonpy import build_sdist, get_requires_for_build_editable, get_requires_for_build_sdist, get_requires_for_build_wheel

__all__ = ['build_editable', 'build_sdist', 'build_wheel', 'get_requires_for_build_editable', 'get_requires_for_build_sdist',
           'get_requires_for_build_wheel']
ROOT = pathlib.Path(__file__).resolve().parents[2]


def use_cache(environment, which=shutil.which):
    """Sets the compilers as ./dev does, so that its cache is used; the user's own choice takes precedence. Returns whether it did."""
    if 'CC' in environment or 'CXX' in environment or not all(map(which, ('ccache', 'gcc', 'g++'))):
        return False
    environment.update(CC='ccache gcc', CXX='ccache g++')
    for name, value in (('BASEDIR', str(ROOT)), ('NOHASHDIR', '1'), ('SLOPPINESS', 'pch_defines,time_macros')):
        environment.setdefault('CCACHE_' + name, value)
    return True


def tell(text):
    """pip shows a build's output only with -v, so one line goes to the terminal itself, if there is one."""
    print(text, flush=True)
    try:
        with open('/dev/tty', 'w') as terminal:
            terminal.write(f'\n{text}\n')
    except OSError:
        pass


def _begin():
    cached = use_cache(os.environ)
    tell('tenon: compiling the core, the plugins cpu, linalg and fft, and the extension: about 200 files, '
         + ('less what ccache has of an earlier build' if cached else 'all of them: ccache would keep them for the next time')
         + '. Some minutes on two cores; `pip install -v` shows each file')


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _begin()
    return mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _begin()
    return mesonpy.build_editable(wheel_directory, config_settings, metadata_directory)
