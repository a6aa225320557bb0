"""Fathom compiles ONNX models to native code and runs them.

artifact = fathom.compile("model.onnx")
outputs = fathom.Session(artifact).run(None, {"input": array})
"""

from .batching import Pool, Queue
from .compile import Artifact, check, compile, options
from .errors import Error
from .model import Model
from .sequences import TensorInfo
from .session import Session


def __getattr__(name):
    # What is not needed to compile and run is loaded by who asks for it.
    if name in ("backend", "cache", "hf", "onnxruntime", "torch", "verify"):
        import importlib

        return importlib.import_module("." + name, __name__)
    if name in ("InferenceSession", "SessionOptions"):
        from . import inference

        return getattr(inference, name)
    if name in ("Quantized", "quantize"):
        from . import quantization

        return getattr(quantization, name)
    if name == "Trainer":
        from .train import Trainer

        return Trainer
    raise AttributeError(f"module 'fathom' has no attribute '{name}'")


__version__ = "0.1.0"
__all__ = ["Artifact", "Error", "InferenceSession", "Model", "Pool", "Quantized", "Queue", "Session", "SessionOptions", "TensorInfo", "Trainer", "check", "compile", "options", "quantize"]
