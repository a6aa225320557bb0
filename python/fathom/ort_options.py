"""ONNX Runtime's SessionOptions and RunOptions: what has a meaning here is heeded, what has none is taken and told to the log."""

from __future__ import annotations

import enum
import logging

_log = logging.getLogger("fathom")


class GraphOptimizationLevel(enum.IntEnum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


# Those that change nothing here, with ONNX Runtime's defaults.
_IDLE = {
    "enable_cpu_mem_arena": True,
    "enable_mem_pattern": True,
    "enable_mem_reuse": True,
    "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
    "execution_order": ExecutionOrder.DEFAULT,
    "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
    "inter_op_num_threads": 0,
    "log_severity_level": -1,
    "log_verbosity_level": 0,
    "logid": "",
    "optimized_model_filepath": "",
    "use_deterministic_compute": False,
    "use_per_session_threads": True,
}


class SessionOptions:
    """`intra_op_num_threads`, `enable_profiling`, `profile_file_prefix` and the overrides of free dimensions are what they are there.

    Besides: `compile_options`, a dictionary for fathom.compile; `cache`, whether compiled models are kept (fathom.cache); `concurrency`,
    how many runs at most go on at the same time (fathom.Session).
    """

    def __init__(self):
        self.intra_op_num_threads = 0
        self.enable_profiling = False
        self.profile_file_prefix = "fathom_profile_"
        self.compile_options: dict = {}
        self.cache = True
        self.concurrency = 0
        self.dims: dict[str, int] = {}
        self._entries: dict[str, str] = {}
        self.__dict__.update(_IDLE)

    def __setattr__(self, name, value):
        if hasattr(self, "_entries") and name not in self.__dict__:
            raise AttributeError(f"SessionOptions has no option '{name}'")
        object.__setattr__(self, name, value)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        self.dims[name] = size

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        _log.warning("a dimension is overridden by its name only: the denotation '%s' has no effect", denotation)

    def add_session_config_entry(self, key: str, value: str) -> None:
        self._entries[key] = value

    def get_session_config_entry(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"there is no session option '{key}'")
        return self._entries[key]

    def register_custom_ops_library(self, path: str) -> None:
        _log.warning("operators of a library are not known: '%s' has no effect", path)

    def tell_idle(self) -> None:
        """Says which of the options that were set have no effect."""
        for name, default in _IDLE.items():
            if getattr(self, name) != default:
                _log.info("the session option %s has no effect", name)
        for key in self._entries:
            _log.info("the session option %s has no effect", key)


class RunOptions:
    """`terminate` refuses the next run; the others have no effect."""

    def __init__(self):
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self.terminate = False
        self._entries: dict[str, str] = {}

    def add_run_config_entry(self, key: str, value: str) -> None:
        self._entries[key] = value

    def get_run_config_entry(self, key: str) -> str:
        return self._entries[key]
