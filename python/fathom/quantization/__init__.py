"""Static quantisation after training: a model of 32-bit floats becomes one of 8-bit numbers, in ONNX's own operators.

Samples of what the model will be given say which range each value has. docs/user/quantizing.md tells how it is used.
"""

from .static import Quantized, quantize

__all__ = ["Quantized", "quantize"]
