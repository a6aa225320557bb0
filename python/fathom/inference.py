"""InferenceSession as ONNX Runtime has it, over a compiled model."""

from __future__ import annotations

import logging
import mmap
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from .compile import Artifact, compile, read_model
from .errors import Error
from .files import is_compiled
from .model import Model
from .ort_options import RunOptions, SessionOptions
from .ort_types import declared_type
from .ort_values import IOBinding, OrtValue, plain
from .sequences import Group, bad_input
from .session import Session
from .wire import ModelMetadata, metadata

_log = logging.getLogger("fathom")
PROVIDER = "FathomExecutionProvider"


class NodeArg(NamedTuple):
    """An input or output: its name, its type such as "tensor(float)", and its sizes, which are numbers, names or None."""

    name: str
    type: str
    shape: list


def _describe(found: Group) -> NodeArg:
    shape = [] if found.info.shape is None else list(found.info.shape)
    return NodeArg(found.info.name, declared_type(found.info, found.keys), shape)


def _view(path: str, data: bytes):
    """The bytes of a model, those of a file as they lie on disk."""
    if not path:
        return data
    try:
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # missing, or empty: the compiler says so
        return b""


def _metadata(view) -> ModelMetadata:
    try:
        return metadata(view)
    except ValueError:
        return ModelMetadata()


def _split_providers(providers, provider_options) -> dict:
    """The options for fathom.compile among those of providers; others have no effect."""
    options: dict = {}
    for i, provider in enumerate(providers or ()):
        name, given = (provider, {}) if isinstance(provider, str) else provider
        given = {**given, **(provider_options[i] if provider_options else {})}
        if name == PROVIDER:
            options.update(given)
        elif name != "CPUExecutionProvider":
            _log.warning("the provider %s has no effect; code for a device is made by compile_options={'target': ...}", name)
    return options


class InferenceSession:
    """A drop-in for onnxruntime.InferenceSession.

    The model is a path, bytes or an onnx.ModelProto, or what fathom.compile made, in a file or in memory. A model is compiled, and kept
    for the next time (fathom.cache). Runs may come from several threads.
    """

    def __init__(self, path_or_bytes, sess_options: SessionOptions | None = None, providers=None, provider_options=None, **ignored):
        options = sess_options or SessionOptions()
        options.tell_idle()
        for name in ignored:
            _log.info("the argument %s has no effect", name)
        self._options = options
        compile_options = {**options.compile_options, **_split_providers(providers, provider_options)}
        if options.dims:
            compile_options["dim"] = {**options.dims, **dict(compile_options.get("dim") or {})}
        self._meta = ModelMetadata(producer_name="fathom")
        model = self._load(path_or_bytes, compile_options)
        self._session = Session(model, threads=options.intra_op_num_threads, concurrency=options.concurrency)
        self._workers: ThreadPoolExecutor | None = None
        self._started = time.perf_counter_ns()
        if options.enable_profiling:
            self._session.start_profiling()

    def _load(self, given, compile_options: dict) -> Model:
        if isinstance(given, (Model, Artifact)):
            return given if isinstance(given, Model) else Model(given)
        path, data, folder = read_model(given, None)
        view = _view(path, data)
        if is_compiled(view[:4]):
            if compile_options:
                _log.warning("the model is compiled already: %s have no effect", ", ".join(compile_options))
            return Model(path or Artifact.of_bytes(data))
        self._meta = _metadata(view)
        return Model(compile(given, cache=self._options.cache, **compile_options))

    def get_inputs(self) -> list[NodeArg]:
        return [_describe(found) for found in self._session.groups]

    def get_outputs(self) -> list[NodeArg]:
        return [_describe(found) for found in self._session._output_groups]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """None: weights are compiled into the code."""
        return []

    def get_modelmeta(self) -> ModelMetadata:
        return self._meta

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_providers(self) -> list[str]:
        return [PROVIDER, "CPUExecutionProvider"]

    def get_provider_options(self) -> dict[str, dict]:
        return {name: {} for name in self.get_providers()}

    def set_providers(self, providers=None, provider_options=None) -> None:
        _log.info("providers are chosen when a model is compiled: set_providers has no effect")

    def enable_fallback(self) -> None:
        """Nothing: there is nothing to fall back to."""

    disable_fallback = enable_fallback

    def run(self, output_names, input_feed: dict, run_options: RunOptions | None = None) -> list:
        """The outputs named, or all of them for None or an empty list."""
        if run_options is not None and run_options.terminate:
            raise bad_input("the run was terminated by its options")
        return self._session.run(output_names if output_names else None, self._feed(input_feed))

    def _feed(self, given: dict) -> dict:
        kinds = {info.name: info for info in self._session.inputs}
        feed = {}
        for name, value in given.items():
            value = plain(value)
            info = kinds.get(name)
            # A list of numbers is a tensor of the input's type, as there.
            if isinstance(value, (list, tuple)) and info is not None and info.kind in ("tensor", "optional"):
                value = np.asarray(value, info.dtype)
            feed[name] = value
        return feed

    def run_async(self, output_names, input_feed: dict, callback, user_data, run_options: RunOptions | None = None) -> None:
        """Runs in a thread of the session's, which calls callback(results, user_data, error); the error is "" where all went well."""

        def work():
            try:
                results, error = self.run(output_names, input_feed, run_options), ""
            except Exception as raised:  # the callback's to judge
                results, error = [], str(raised)
            callback(results, user_data, error)

        if self._workers is None:
            self._workers = ThreadPoolExecutor(self._session.concurrency, thread_name_prefix="fathom")
        self._workers.submit(work)

    def run_with_ort_values(self, output_names, input_dict_ort_values: dict, run_options: RunOptions | None = None) -> list[OrtValue]:
        return [OrtValue(value) for value in self.run(output_names, input_dict_ort_values, run_options)]

    def io_binding(self) -> IOBinding:
        return IOBinding(self._session)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        if run_options is not None and run_options.terminate:
            raise bad_input("the run was terminated by its options")
        iobinding.run()

    def get_profiling_start_time_ns(self) -> int:
        return self._started

    def end_profiling(self) -> str:
        """Writes what was noted for chrome://tracing; returns the file's name, "" where options did not ask for it."""
        if not self._options.enable_profiling:
            return ""
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
        return self._session.end_profiling(f"{self._options.profile_file_prefix}{stamp}.json")

    def close(self) -> None:
        """Ends when runs that go on have ended; frees arenas, threads and the model."""
        if self._workers is not None:
            self._workers.shutdown()
        self._session.close()

    def __enter__(self) -> InferenceSession:
        return self

    def __exit__(self, *error) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return self._session._repr_html_()


def get_available_providers() -> list[str]:
    return [PROVIDER, "CPUExecutionProvider"]


get_all_providers = get_available_providers


def get_device() -> str:
    return "CPU"


def set_default_logger_severity(severity: int) -> None:
    """0 to 4, verbose to fatal: the level of the logger "fathom"."""
    levels = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)
    if severity not in range(len(levels)):
        raise Error(f"the severity is {severity}: expected 0 to 4", "F1012", 1)
    _log.setLevel(levels[severity])
