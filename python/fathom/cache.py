"""Compiled models that are kept on disk, so that the same one need not be compiled again.

`python -m fathom.cache` lists them, `python -m fathom.cache clear` removes them. They lie in FATHOM_CACHE, or else in fathom/artifacts in
the user's cache folder (XDG_CACHE_HOME), and take FATHOM_CACHE_MIB at most, 4096 unless it says otherwise: those go that were not used for
longest. With 0 nothing is kept. A kept artifact is native code: the folder is for its owner alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import logging
import os
import pathlib
import secrets
import sys
import time
from typing import Callable, NamedTuple

from . import _runtime
from .errors import Error
from .wire import external_files

_log = logging.getLogger("fathom")
_SUFFIX = ".fathom"
# Of the compiler's options, those that name a file whose contents count.
_FILES = ("plan", "graph", "kernels", "loops", "llvm", "calibration", "target")


class Entry(NamedTuple):
    """A kept artifact: its file, its bytes, and when it was used last (seconds since 1970)."""

    path: pathlib.Path
    bytes: int
    used: float


def folder() -> pathlib.Path:
    if given := os.environ.get("FATHOM_CACHE"):
        return pathlib.Path(given)
    home = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path there counts for nothing, as the specification says.
    return (pathlib.Path(home) if os.path.isabs(home) else pathlib.Path.home() / ".cache") / "fathom" / "artifacts"


def limit() -> int:
    """How many bytes are kept at most."""
    text = os.environ.get("FATHOM_CACHE_MIB", "4096")
    if not text.isascii() or not text.isdigit():
        raise Error(f"FATHOM_CACHE_MIB is '{text}': expected a number of MiB, or 0 to keep nothing", "F2001", 2)
    return int(text) << 20


def entries() -> list[Entry]:
    """What is kept, what was used last first."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for path in folder().iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process removes what is too much
                if path.suffix == _SUFFIX:
                    status = path.stat()
                    found.append(Entry(path, status.st_size, status.st_mtime))
    return sorted(found, key=lambda entry: -entry.used)


def clear() -> int:
    """Removes all that is kept; returns how many bytes that were. Who runs one of them goes on."""
    return _remove(entries())


def _remove(chosen) -> int:
    size = 0
    for entry in chosen:
        with contextlib.suppress(FileNotFoundError):
            entry.path.unlink()
            size += entry.bytes
    return size


def _host() -> str:
    """What code for this machine depends on."""
    lines = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    words = ("vendor_id", "model", "stepping", "flags", "Features", "CPU ")
    texts = [line for line in lines if line.startswith(words)]
    for size in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")):
        texts.append(size.read_text())
    return "\n".join([*texts, str(os.cpu_count())])


def _identity(path) -> list:
    """Of a file that is too large to read, or that changes: another one has another."""
    status = os.stat(path)
    return [os.path.realpath(path), status.st_size, status.st_mtime_ns]


def _database(given: str | None) -> list:
    """What schedules are looked up in changes what the compiler makes."""
    path = given or os.environ.get("FATHOM_DB")
    if path and path.startswith(("postgresql:", "postgres:")):
        raise ValueError("what a server has may change at any time")
    if not path:
        data = os.environ.get("XDG_DATA_HOME", "")
        path = os.path.join(data if os.path.isabs(data) else os.path.expanduser("~/.local/share"), "fathom", "schedules.db")
    return [fact for file in (path, path + "-wal") for fact in (_identity(file) if os.path.exists(file) else [file])]


def _compiler() -> list:
    spec = importlib.util.find_spec("fathom._compiler")
    if not spec or not spec.origin:
        return []
    # A wheel has the compiler itself in a library beside the module.
    libraries = sorted(pathlib.Path(spec.origin).parent.glob("lib/*.so*"))
    return [_identity(file) for file in (spec.origin, *libraries)]


def key(source: tuple[str, bytes, str], name: str, options: list[tuple[str, str]], files: dict[str, list] | None = None) -> str:
    """What tells a compilation from all others: the model with its data, the options, the compiler and the machine.

    `files` gets what was read, for are_unchanged. OSError or ValueError where it cannot be told; the compiler then says what is wrong.
    """
    path, data, base = source
    digest = hashlib.sha256()

    def add(what: str, content) -> None:
        digest.update(f"{what}:{len(content)}:".encode())
        digest.update(content)

    def note(where: str) -> None:
        if not os.path.isfile(where):  # a device has no end
            raise ValueError(f"{where} is not a file")
        if files is not None:
            files[where] = _identity(where)

    def add_file(what: str, where: str) -> None:
        note(where)
        with open(where, "rb") as file:
            add(what, hashlib.file_digest(file, "sha256").digest())

    if path:
        note(path)
    model = pathlib.Path(path).read_bytes() if path else data
    add("model", model)
    base = os.path.dirname(path) if path else base
    for location in sorted(external_files(model)):
        if not path and not base:
            raise ValueError("the model has data outside, and no folder")
        if os.path.isabs(location) or ".." in pathlib.Path(location).parts:
            raise ValueError(f"{location} is not beneath the model")
        add("location", location.encode("utf-8", "surrogateescape"))
        add_file("data", os.path.join(base, location))
    # How many threads compile changes nothing.
    options = [option for option in options if option[0] != "jobs"]
    given = dict(options)
    # The CPU of a device's host code may be a description too.
    if os.path.isfile(host := given.get("target", "").partition("@")[2]):
        add_file("host", host)
    for option in _FILES:
        if option in given and os.path.isfile(given[option]):
            add_file(option, given[option])
        elif option == "target":
            for part in filter(os.path.isfile, given.get("target", "").split(",")):
                add_file(option, part)
    facts = [sorted(options), name, _host(), _database(given.get("db")), _compiler(), sys.byteorder]
    if path:
        # What tuning finds goes by the model's name.
        facts.append(name or pathlib.Path(path).stem)
    add("facts", json.dumps(facts).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def are_unchanged(files: dict[str, list]) -> bool:
    """Whether the files that a key was made of are the same still."""
    try:
        return all(_identity(file) == before for file, before in files.items())
    except OSError:
        return False


@contextlib.contextmanager
def _turn(home: pathlib.Path, name: str):
    """One process and thread at a time makes what has this name; without locks all make it, which costs time only."""
    locks = home / "locks"
    locks.mkdir(exist_ok=True)
    # Files of which there are few, so that nobody ever has to remove one.
    with open(locks / name[:2], "w") as lock:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:  # closing it is not enough where a process was forked meanwhile, which has it open too
            with contextlib.suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_UN)


def _open_sound(path: pathlib.Path) -> int | None:
    """A descriptor of a kept artifact that is what the compiler wrote; None where there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        _runtime.check(os.fsencode(f"/proc/self/fd/{fd}"))
        os.utime(path)
    except Error as error:
        os.close(fd)
        _log.warning("a kept artifact is damaged and is made again: %s: %s", path, error.message)
        return None
    except OSError:  # a folder that can only be read
        pass
    return fd


def fetch(name: str, make: Callable[[str], object], is_right: Callable[[], bool] = lambda: True) -> int | None:
    """A descriptor of the artifact that is kept under this name, which `make(path)` writes where there is none. None: nothing is kept.

    `is_right()` says whether what was made is what the name stands for: else it is not kept.
    """
    most = limit()
    if not most:
        return None
    try:
        home = folder()
    except RuntimeError as error:  # there is no home
        _log.warning("compiled models cannot be kept: %s", error)
        return None
    path = home / (name + _SUFFIX)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (fd := _open_sound(path)) is not None:
            _log.info("took a compiled model from %s", path)
            return fd
        with _turn(home, name):
            if (fd := _open_sound(path)) is not None:  # who had the turn before made it
                return fd
            temporary = home / f"{name[:16]}-{os.getpid()}-{secrets.token_hex(8)}.tmp"
            try:
                make(os.fspath(temporary))
                fd = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    if not is_right():
                        _log.info("a file was changed while it was compiled: the result is not kept")
                        return fd
                    os.replace(temporary, path)
                except BaseException:
                    os.close(fd)
                    raise
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("compiled models cannot be kept: %s", error)
        return None
    _log.info("kept a compiled model in %s", path)
    _shrink(most, path)
    return fd


def _shrink(most: int, kept: pathlib.Path) -> None:
    """Removes what was not used for longest until the rest has room, and what was left by who was killed a day ago."""
    with contextlib.suppress(OSError):
        for path in kept.parent.glob("*.tmp"):
            if path.stat().st_mtime < time.time() - 86400:
                path.unlink()
    total, chosen = 0, []
    for entry in entries():
        total += entry.bytes
        if total > most and entry.path != kept:
            chosen.append(entry)
            total -= entry.bytes
    if size := _remove(chosen):
        _log.info("removed %d kept artifacts, %d MiB", len(chosen), size >> 20)


def main(arguments: list[str]) -> int:
    if arguments == ["clear"]:
        print(f"removed {clear() / 2**20:.1f} MiB from {folder()}")
    elif not arguments:
        found = entries()
        for entry in found:
            print(f"{entry.bytes / 2**20:10.1f} MiB  {entry.path.name}")
        print(f"{len(found)} artifacts, {sum(entry.bytes for entry in found) / 2**20:.1f} of {limit() >> 20} MiB in {folder()}")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
