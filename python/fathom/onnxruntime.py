"""What scripts for ONNX Runtime use, under the names that it has: `import fathom.onnxruntime as ort`."""

from .inference import (
    InferenceSession,
    NodeArg,
    get_all_providers,
    get_available_providers,
    get_device,
    set_default_logger_severity,
)
from .ort_options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from .ort_values import IOBinding, OrtValue
from .wire import ModelMetadata

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "set_default_logger_severity",
]
