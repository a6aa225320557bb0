"""What the tests of the wheels share: the wheels, those that they need, a clean environment and a bare root."""
import os
import pathlib
import re
import subprocess
import sys

import pytest
from support.tool import BUILD, ROOT
from wheel_tools import call

PIP = next(pathlib.Path("/usr/share/python-wheels").glob("pip-*.whl"), None)
# Python and what a program in C++ needs, with what these depend on. No compiler, no LLVM.
PACKAGES = ["python3", "python3-distutils", "libstdc++6", "libc-bin", "dash", "coreutils"]
LEFT_OUT = {"tzdata", "media-types", "mime-support", "gcc-12-base", "debconf", "perl-base"}


@pytest.fixture(scope="session")
def wheels():
    """The folder with Fathom's wheels and with those of its dependencies."""
    folder = pathlib.Path(os.environ.get("FATHOM_WHEELS", BUILD / "wheels"))
    pinned = [line for line in (ROOT / "requirements.txt").read_text().split() if re.match("numpy=|ml_dtypes=", line)]
    if not all(any(folder.glob(text.replace("==", "-") + "-*.whl")) for text in pinned):
        call(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--no-deps", "--dest", folder, *pinned)
    return folder


@pytest.fixture(scope="session")
def clean(wheels, tmp_path_factory):
    """The folder of programs of a virtual environment with both wheels."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    call("/usr/bin/python3", "-m", "venv", folder)
    call(folder / "bin/python", "-m", "pip", "install", "--no-index", "--find-links", wheels, "fathom-compiler")
    return folder / "bin"


def _depends(package):
    """Those packages that it needs, the first of alternatives, and only such as are installed here."""
    text = call("dpkg-query", "-W", "-f", "${Pre-Depends}, ${Depends}", package)
    for entry in text.split(","):
        names = [re.split(r"[ (:]", name.strip())[0] for name in entry.split("|")]
        for name in filter(None, names):
            if not subprocess.run(["dpkg-query", "-W", name], capture_output=True).returncode:
                yield name
                break


@pytest.fixture(scope="session")
def bare(wheels, tmp_path_factory):
    """Runs a command in a root that has the files of a few of Debian's packages, and the wheels in /wheels."""
    if os.geteuid() or PIP is None:
        pytest.skip("a root of its own needs root, and the package python3-pip-whl")
    root = tmp_path_factory.mktemp("bare")
    names, todo = set(), list(PACKAGES)
    while todo:
        if (package := todo.pop()) not in names | LEFT_OUT:
            names.add(package)
            todo += _depends(package)
    assert not any("llvm" in name or "mlir" in name for name in names)
    files = {path for name in names for path in call("dpkg-query", "-L", name).splitlines()}
    files = sorted(path for path in files if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)))
    # As of Debian 12 these folders are links.
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    kept = [path.lstrip("/") for path in files if not path.startswith(("/usr/share/doc", "/usr/share/man", "/usr/share/locale"))]
    call("cp", "-a", "--parents", *kept, root, cwd="/")
    for name in ("proc", "dev", "tmp", "wheels", "root"):
        (root / name).mkdir(exist_ok=True)
    call("cp", *wheels.glob("*.whl"), PIP, root / "wheels")
    call("/usr/sbin/chroot", root, "/sbin/ldconfig")

    def run(*words, code=0):
        script = f'mount --bind /proc {root}/proc && mount --bind /dev {root}/dev && exec /usr/sbin/chroot {root} "$@"'
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "FATHOM_DB": "none"}
        return call("/usr/bin/unshare", "-m", "/bin/sh", "-c", script, "sh", *words, code=code, env=environment)

    run.root = root
    return run
