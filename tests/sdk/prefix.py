"""An installed prefix for tests: made once in the build folder, shared, and made anew when something installed changed.

    import prefix
    p = prefix.installed(build_folder)
    subprocess.run([p.tenon, "devices"], env=p.environment())
"""

import fcntl
import hashlib
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/dev"))
import install  # what ./dev install runs


class Prefix:
    def __init__(self, root, libdir):
        self.root = pathlib.Path(root)
        self.libdir = libdir
        self.lib, self.include = self.root / libdir, self.root / "include"
        self.plugins = self.lib / "tenon/plugins"
        self.tenon = self.root / "bin/tenon"

    def moved_to(self, root):
        shutil.copytree(self.root, root, symlinks=True)
        return Prefix(root, self.libdir)

    def environment(self, **more):
        """The caller's, without its Tenon settings and home, with this prefix first on every path."""
        # Meson's tests run with a library path into the build folder.
        env = {k: v for k, v in os.environ.items() if not k.startswith(("TENON_", "XDG_", "LD_LIBRARY_PATH"))}
        first = {"PATH": self.root / "bin", "CMAKE_PREFIX_PATH": self.root, "PKG_CONFIG_PATH": self.lib / "pkgconfig"}
        for name, place in first.items():
            env[name] = f"{place}:{env[name]}" if env.get(name) else str(place)
        # The scratch folder of the test: no plugins or caches of the user.
        return {**env, "HOME": env.get("TMPDIR", "/nonexistent"), **more}


def fingerprint(build):
    """Changes when a file that is installed does."""
    seen = hashlib.sha256()
    sources = [build / "build.ninja"]
    for section in install.introspect(build, "install_plan").values():
        sources += [pathlib.Path(source) for source in section]
    for source in sorted(sources):
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            about = path.stat()
            seen.update(f"{path} {about.st_size} {about.st_mtime_ns}\n".encode())
    return seen.hexdigest()


def needs_plain_build(build):
    """Ends the test as skipped where programs built by a plain compiler cannot load the library."""
    kind = install.option(pathlib.Path(build), "b_sanitize")
    if kind not in ("none", []):
        print(f"libtenon of a build with -fsanitize={kind} loads into programs that are built likewise only")
        sys.exit(77)


def installed(build):
    build = pathlib.Path(build)
    root, stamp = build / "tests/prefix", build / "tests/prefix.stamp"
    root.parent.mkdir(exist_ok=True)
    with open(build / "tests/prefix.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            install.build_targets(build, os.cpu_count())
            now = fingerprint(build)
            if not (stamp.exists() and stamp.read_text() == now):
                stamp.unlink(missing_ok=True)
                shutil.rmtree(root, ignore_errors=True)
                install.install(build, install.checked_prefix(root))
                stamp.write_text(now)
        except install.Refusal as reason:
            sys.exit(f"error: {reason}")
    return Prefix(root, install.option(build, "libdir"))
