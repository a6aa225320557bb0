"""Compiling from Python. Options are those of `fathom compile`, from the same table."""

from __future__ import annotations

import logging
import operator
import os
import secrets
import shutil
import sys
import warnings
import weakref
from functools import lru_cache

from .errors import Error, raise_diagnostics, without_nul

_log = logging.getLogger("fathom")


def _compiler():
    # The compiler's libraries are large; a program that only runs models never loads them.
    try:
        from . import _compiler
    except ImportError as error:
        raise Error(f"the compiler cannot be loaded: {error}", "F5001", 5) from error
    return _compiler


@lru_cache(maxsize=1)
def _option_table() -> dict[str, dict]:
    return {entry["name"].replace("-", "_"): entry for entry in _compiler().options()}


def options() -> list[dict]:
    """The keywords that compile() takes: name, type, default and help of each."""
    return [
        {"name": name, **{k: entry[k] for k in ("type", "value", "default", "help")}}
        for name, entry in _option_table().items()
    ]


class Artifact:
    """A compiled model in memory. It is freed when neither this object nor a session uses it."""

    def __init__(self, fd: int, report: dict):
        self._fd = fd
        self.report = report
        self._close = weakref.finalize(self, os.close, fd)

    @classmethod
    def of_bytes(cls, data: bytes) -> Artifact:
        """Of the bytes of a file that was compiled."""
        return _restore(data, {})

    @property
    def path(self) -> str:
        """A path under which this process can read the artifact."""
        return f"/proc/self/fd/{self._fd}"

    @property
    def manifest(self) -> dict:
        """What the artifact says of itself."""
        from .model import Model

        # A session needs what it runs on, such as a device.
        return Model(self).manifest

    def save(self, path) -> str:
        """Writes the artifact to a file, which appears when it is whole."""
        path = os.fspath(path)
        # The file behind a link is replaced, not the link.
        target = os.path.realpath(path)
        if os.path.exists(target) and not os.path.isfile(target):
            raise Error(f"cannot write '{path}': it is not a regular file", "F1014", 1)
        temporary = os.path.join(os.path.dirname(target), f"fathom-{os.getpid()}-{secrets.token_hex(8)}.tmp")
        try:
            with open(self.path, "rb") as source, open(temporary, "xb", opener=_open_executable) as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
            os.replace(temporary, target)
        except OSError as error:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise Error(f"cannot write '{path}': {error.strerror}", "F1014", 1) from error
        return path

    def __reduce__(self):
        # Its bytes: a descriptor's number means another file elsewhere.
        with open(self.path, "rb") as file:
            return _restore, (file.read(), self.report)

    def __repr__(self):
        return f"<fathom.Artifact {os.fstat(self._fd).st_size} bytes>"


def _restore(data: bytes, report: dict) -> Artifact:
    """What pickle, copy and multiprocessing make an artifact with."""
    fd = os.memfd_create("fathom-artifact", os.MFD_CLOEXEC)
    artifact = Artifact(fd, report)
    with open(artifact.path, "wb") as file:
        file.write(data)
    return artifact


def _open_executable(path: str, flags: int) -> int:
    return os.open(path, flags, 0o755)


def _usage(message: str) -> Error:
    return Error(message, "F2001", 2, hint="fathom.options() lists the options")


def _spell_dims(dims) -> list[str]:
    """{"batch": 4, "sequence": (1, 512)} as the command line writes it."""
    if isinstance(dims, str):
        return [dims]
    # Texts, or pairs as dict() takes them.
    given = list(dims.items() if hasattr(dims, "items") else dims) if hasattr(dims, "__iter__") else [dims]
    texts = []
    for entry in given:
        if isinstance(entry, str):
            texts.append(entry)
            continue
        if not isinstance(entry, (tuple, list)) or len(entry) != 2 or not isinstance(entry[0], str):
            raise _usage(f"a dimension is given by its name and its size, not by {entry!r}")
        name, size = entry
        try:
            # Whole numbers of any kind, NumPy's among them: a size, a range, or a range and the size to be good at.
            low, high, *likely = map(operator.index, size if isinstance(size, (tuple, list)) else (size, size))
            if len(likely) > 1:
                raise ValueError
        except (TypeError, ValueError):
            wanted = "a size, the ends of a range, or these and the size to be good at"
            raise _usage(f"dimension '{name}' is {wanted}, in whole numbers, not {size!r}") from None
        text = f"{name}={low}" if low == high and not likely else f"{name}={low}..{high}"
        texts.append(text + "".join(f",opt={best}" for best in likely))
    return texts


def _spell_options(given: dict) -> list[tuple[str, str]]:
    table = _option_table()
    texts = []
    for keyword, value in given.items():
        if keyword not in table:
            raise _usage(f"unknown option '{keyword}'")
        if value is None:
            continue
        if keyword == "dim":
            texts += [("dim", text) for text in _spell_dims(value)]
        elif isinstance(value, (str, os.PathLike)):
            texts.append((table[keyword]["name"], os.fspath(value)))
        elif hasattr(value, "__index__"):
            texts.append((table[keyword]["name"], str(operator.index(value))))
        elif isinstance(value, float) and table[keyword]["type"] == "number":
            texts.append((table[keyword]["name"], repr(value)))
        elif keyword == "target" and isinstance(value, (list, tuple)) and all(isinstance(cpu, str) for cpu in value):
            texts.append((keyword, ",".join(value)))
        elif keyword == "shape" and isinstance(value, (list, tuple)) and all(isinstance(text, str) for text in value):
            texts += [(table[keyword]["name"], text) for text in value]
        else:
            raise _usage(f"option '{keyword}' does not take a {type(value).__name__}")
    return texts


def read_model(model, base_folder) -> tuple[str, bytes, str]:
    """The model as a path, or as bytes and the folder that its external data lies in."""
    folder = os.fspath(base_folder) if base_folder is not None else ""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), b"", ""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return "", bytes(model), folder
    if hasattr(model, "SerializeToString"):
        return "", model.SerializeToString(), folder
    raise _usage(f"a model is a path, bytes or an onnx.ModelProto, not a {type(model).__name__}")


def _encode(text: str | bytes) -> bytes:
    """As the system has it: what Python could not decode is what it was."""
    without_nul(text)
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape" if _is_escaped(text) else "surrogatepass")


def _is_escaped(text: str) -> bool:
    return all(not "\ud800" <= c <= "\udfff" or "\udc80" <= c <= "\udcff" for c in text)


def _encode_all(texts) -> list[tuple[bytes, bytes]]:
    return [(_encode(name), _encode(value)) for name, value in texts]


def _level_of_caller() -> int:
    """The stacklevel of a warning that is for who called this package."""
    package, frame, level = os.path.dirname(__file__), sys._getframe(1), 1
    while frame and os.path.dirname(frame.f_code.co_filename) == package:
        frame, level = frame.f_back, level + 1
    return level


def _compile(source, output: str, texts, name: str) -> dict:
    path, data, folder = source
    outcome = _compiler().compile(
        path=_encode(path),
        bytes=data,
        base_folder=_encode(folder),
        output=_encode(output),
        name=_encode(name),
        options=_encode_all(texts),
    )
    if not outcome["ok"]:
        raise_diagnostics(outcome["diagnostics"], outcome["worst"])
    seconds = sum(outcome["seconds"].values())
    _log.info("compiled %s in %.2f s: %d kernels", path or name or "a model", seconds, outcome["kernels"])
    for diagnostic in outcome["diagnostics"]:
        if diagnostic["severity"] == "warning":
            where = f"node '{diagnostic['node']}': " if diagnostic["node"] else ""
            warnings.warn(where + diagnostic["message"], stacklevel=_level_of_caller())
    return outcome


def _report(outcome: dict) -> dict:
    keys = ("seconds", "kernels", "codes", "weight_bytes", "source_weight_bytes", "diagnostics")
    return {key: outcome[key] for key in keys}


def _from_cache(source, texts, name: str) -> Artifact | None:
    """The artifact that is kept of this compilation, which is made where there is none; None where none can be kept."""
    from . import cache

    outcome: dict = {}
    files: dict = {}
    try:
        kept_as = cache.key(source, name, texts, files)
    except (OSError, ValueError):
        return None  # the compiler says what is wrong
    fd = cache.fetch(kept_as, lambda path: outcome.update(_compile(source, path, texts, name)), lambda: cache.are_unchanged(files))
    if fd is None:
        return None
    return Artifact(fd, {**(_report(outcome) if outcome else {}), "was_kept": not outcome})


def compile(model, output=None, *, base_folder=None, model_name=None, cache=False, **options):
    """Compiles a model: a path, an onnx.ModelProto or its bytes.

    With `output` the artifact is written to that file and the path is returned; without it the result is an Artifact
    in memory. With the option `emit` the text of that stage is returned. External data of a model in memory is read
    from beneath `base_folder`. What tuning finds is kept under `model_name`, without it under the name of the model's
    file: with tune="transfer" a model takes schedules of others. With `cache`, the artifact is taken from fathom.cache
    where the same model was compiled before, and kept there otherwise. Raises fathom.Error.
    """
    source = read_model(model, base_folder)
    name = "" if model_name is None else model_name
    if not isinstance(name, str):
        raise _usage(f"model_name is a text, not a {type(name).__name__}")
    texts = _spell_options(options)
    if output is not None:
        path = os.fspath(output)
        if not path:
            raise _usage("the output's path is empty")
        _compile(source, path, texts, name)
        return path
    if options.get("emit"):
        return _compile(source, "", texts, name)["text"]
    if cache and (artifact := _from_cache(source, texts, name)) is not None:
        return artifact
    fd = os.memfd_create("fathom-artifact", os.MFD_CLOEXEC)
    try:
        outcome = _compile(source, f"/proc/self/fd/{fd}", texts, name)
    except BaseException:
        os.close(fd)
        raise
    return Artifact(fd, _report(outcome))


def check(model, base_folder=None, dim=None, shape=None) -> list[dict]:
    """Everything that keeps a model from being compiled, as dictionaries; empty when it is supported.

    The model and the keywords are those of compile(). Raises fathom.Error where these are wrong.
    """
    path, data, folder = read_model(model, base_folder)
    texts = _spell_options({"dim": dim, "shape": shape})
    outcome = _compiler().check(
        path=_encode(path), bytes=data, base_folder=_encode(folder), options=_encode_all(texts)
    )
    if not outcome["ok"]:
        raise_diagnostics(outcome["diagnostics"], outcome["worst"])
    return outcome["diagnostics"]
