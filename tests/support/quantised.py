"""Random quantised graphs whose every result is decided: rounded where the operators say, and exact elsewhere.

A graph is of one way of writing: QuantizeLinear and DequantizeLinear around operators of floats (`QDQ`), operators of numbers (`QOperator`), or
numbers of what a run finds (`dynamic`). Scales of products and averages of floats are powers of two, so that no sum of them is rounded whatever
its order; all others are any numbers.
"""
import numpy as np
from onnx import TensorProto, helper

from support.models import model, node, prime

WAYS = ("QDQ", "QOperator", "dynamic")
BYTES = (np.dtype(np.uint8), np.dtype(np.int8))
WIDE = (np.dtype(np.uint16), np.dtype(np.int16))
OPSET = 21


def numbers(random, dtype, shape):
    """Of the whole range, its ends often."""
    info = np.iinfo(dtype)
    array, ends = random.integers(info.min, info.max + 1, shape), random.random(shape)
    return np.where(ends < 0.05, info.min, np.where(ends > 0.95, info.max, array)).astype(dtype)


def zero_point(random, dtype):
    """At either end, in the middle, or anywhere."""
    info = np.iinfo(dtype)
    return np.asarray(random.choice([info.min, info.max, 0, int(random.integers(info.min, info.max + 1))]), dtype)


class Value:
    """A tensor of the graph; what its numbers mean where it is of numbers."""

    def __init__(self, name, shape, dtype=None, scale=None, zero=None):
        self.name, self.shape, self.dtype, self.scale, self.zero = name, tuple(shape), dtype, scale, zero


class Graph:
    """`proto` and `inputs`; everything follows from the seed."""

    def __init__(self, seed):
        self.random = random = np.random.default_rng(seed)
        self.way = WAYS[seed % len(WAYS)]
        self.nodes, self.weights = [], {}
        self.is_empty = random.random() < 0.1
        rank = 2 if self.is_empty else int(random.choice([2, 4]))
        batch = 0 if self.is_empty else int(random.integers(1, 4))
        shape = (batch, prime(random), *(int(random.integers(3, 9)) for _ in range(rank - 2)))
        value = {"QDQ": self.quantised_input, "QOperator": self.input_of_numbers, "dynamic": self.input_of_floats}[self.way](shape)
        self.earlier = [value]
        for _ in range(int(random.integers(2, 6))):
            value = self.grown(value)
            self.earlier.append(value)
        element = TensorProto.FLOAT if value.dtype is None else helper.np_dtype_to_tensor_dtype(value.dtype)
        self.proto = model(self.nodes, [("x", helper.np_dtype_to_tensor_dtype(self.inputs["x"].dtype), self.inputs["x"].shape)],
                           [(value.name, element, value.shape)], self.weights, OPSET)

    # Parts.

    def add(self, op, inputs, **attributes):
        """A node, and its result's name. Operands are values, names, or arrays, which become constants."""
        names = []
        for operand in inputs:
            if isinstance(operand, np.ndarray | np.generic):
                names.append(f"c{len(self.weights)}")
                self.weights[names[-1]] = operand
            else:
                names.append(operand.name if isinstance(operand, Value) else operand)
        outputs = [f"v{len(self.nodes)}"] if op != "DynamicQuantizeLinear" else [f"v{len(self.nodes)}{part}" for part in "qsz"]
        self.nodes.append(node(op, names, outputs, **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def one_in(self, count):
        return self.random.integers(count) == 0

    def scale(self, exact, about=0.05):
        """A scale near a number."""
        wanted = about * self.random.uniform(0.3, 2)
        return np.float32(2.0 ** np.round(np.log2(wanted))) if exact else np.float32(wanted)

    def input_of_floats(self, shape):
        self.inputs = {"x": (self.random.standard_normal(shape) * self.random.choice([0.1, 1, 30])).astype(np.float32)}
        return Value("x", shape)

    def input_of_numbers(self, shape):
        dtype = BYTES[self.random.integers(2)]
        self.inputs = {"x": numbers(self.random, dtype, shape)}
        return Value("x", shape, dtype, self.scale(exact=False), zero_point(self.random, dtype))

    def quantised_input(self, shape):
        """Many of the floats lie in the middle between two numbers, or beyond the ends."""
        dtype = (BYTES + WIDE if self.one_in(4) else BYTES)[self.random.integers(2)] if not self.one_in(6) else WIDE[self.random.integers(2)]
        scale, zero = self.scale(exact=True), zero_point(self.random, dtype)
        halves = self.random.integers(-600, 600, shape) * np.float32(0.5) * scale
        self.inputs = {"x": np.where(self.random.random(shape) < 0.5, halves, self.random.standard_normal(shape)).astype(np.float32)}
        return self.quantised(Value("x", shape), dtype, scale, zero)

    def quantised(self, value, dtype, scale, zero):
        name = self.add("QuantizeLinear", [value, scale, zero])
        return Value(name, value.shape, dtype, scale, zero)

    def dequantised(self, value):
        return Value(self.add("DequantizeLinear", [value, value.scale, value.zero]), value.shape)

    def requantised(self, value, exact, about):
        """A float as numbers again, in one of five cases so narrow that most are beyond the ends."""
        dtype = BYTES[self.random.integers(2)] if not self.one_in(8) or exact else WIDE[self.random.integers(2)]
        return self.quantised(value, dtype, self.scale(exact, about * (0.05 if self.one_in(5) else 1)), zero_point(self.random, dtype))

    # Steps.

    def grown(self, value):
        if self.way == "dynamic":
            return self.dynamic(value)
        moves = self.one_in(4)
        if self.way == "QOperator":
            return self.moved(value) if moves else self.operator_of_numbers(value)
        if value.dtype in WIDE:
            return self.elementwise(value)
        choices = [self.elementwise, self.product, *([self.convolution, self.convolution, self.pool] if len(value.shape) == 4 else [])]
        return self.moved(value) if moves else choices[self.random.integers(len(choices))](value)

    def moved(self, value):
        """Numbers elsewhere, their meaning the same."""
        if self.one_in(2) or self.is_empty:
            order = [int(d) for d in self.random.permutation(len(value.shape))]
            return Value(self.add("Transpose", [value], perm=order), [value.shape[d] for d in order], value.dtype, value.scale, value.zero)
        shape = (value.shape[0], int(np.prod(value.shape[1:])))
        return Value(self.add("Reshape", [value, np.asarray(shape)]), shape, value.dtype, value.scale, value.zero)

    def elementwise(self, value):
        x = self.dequantised(value)
        others = [other for other in self.earlier if other.shape == value.shape and other.dtype is not None]
        kind = self.random.choice(["Relu", "Neg", "Abs", "LeakyRelu", "Clip", "Add", "Sub", "Mul", "Max"])
        if kind in ("Add", "Sub", "Mul", "Max"):
            other = others[self.random.integers(len(others))] if others else value
            name = self.add(kind, [x, self.dequantised(other)])
        elif kind == "Clip":
            name = self.add(kind, [x, np.float32(-1.5), np.float32(2.25)])
        else:
            name = self.add(kind, [x], **({"alpha": 0.1} if kind == "LeakyRelu" else {}))
        # What was rounded is no multiple of a power of two, and later sums would be rounded: the numbers are again.
        return self.requantised(Value(name, value.shape), exact=True, about=float(value.scale))

    def weight(self, shape, count, exact):
        """Numbers with a sign, a scale for all or for each channel, and their zero points."""
        each = (count,) if self.one_in(2) else ()
        scale = np.asarray([self.scale(exact, 0.02) for _ in range(count)], np.float32) if each else np.asarray(self.scale(exact, 0.02))
        return numbers(self.random, np.int8, shape), scale, np.zeros(each, np.int8)

    def window(self, value):
        """Attributes of a convolution, the shape of its weights, and that of its result."""
        random, (batch, channels, *image) = self.random, value.shape
        group = channels if self.one_in(3) else 1
        outputs = channels * int(random.integers(1, 3)) if group > 1 else prime(random)
        kernel = [int(random.integers(1, min(4, size + 1))) for size in image]
        pads, strides = [int(random.integers(0, size)) for size in kernel * 2], [int(random.integers(1, 3)) for _ in image]
        sizes = [(image[d] + pads[d] + pads[d + 2] - kernel[d]) // strides[d] + 1 for d in range(2)]
        attributes = {"kernel_shape": kernel, "pads": pads, "strides": strides, "group": group}
        return attributes, (outputs, channels // group, *kernel), (batch, outputs, *sizes)

    def convolution(self, value):
        attributes, shape, result = self.window(value)
        w, scale, zero = self.weight(shape, shape[0], exact=True)
        inputs = [self.dequantised(value), self.add("DequantizeLinear", [w, scale, zero], axis=0)]
        if self.one_in(2):
            bias = self.random.integers(-9999, 9999, shape[0]).astype(np.int32)
            inputs.append(self.add("DequantizeLinear", [bias, np.asarray(scale * value.scale)], axis=0))
        c = Value(self.add("Conv", inputs, **attributes), result)
        c = Value(self.add("Relu", [c]), result) if self.one_in(2) else c
        return self.requantised(c, exact=True, about=float(value.scale * scale.max()) * 99 * w[0].size**0.5)

    def product(self, value):
        depth, columns = value.shape[-1], prime(self.random)
        w, scale, zero = self.weight((depth, columns), columns, exact=True)
        inputs = [self.dequantised(value), self.add("DequantizeLinear", [w, scale, zero], axis=1)]
        name = self.add("MatMul", inputs) if len(value.shape) > 2 or self.one_in(2) else self.add("Gemm", inputs)
        result = Value(name, (*value.shape[:-1], columns))
        return self.requantised(result, exact=True, about=float(value.scale * scale.max()) * 99 * max(1, depth) ** 0.5)

    def pool(self, value):
        window = {"kernel_shape": [2, 2]} if min(value.shape[2:]) > 1 else {"kernel_shape": [1, 1]}
        kind = self.random.choice(["MaxPool", "AveragePool", "GlobalAveragePool"])
        sizes = [1, 1] if kind == "GlobalAveragePool" else [size - window["kernel_shape"][0] + 1 for size in value.shape[2:]]
        name = self.add(kind, [self.dequantised(value)], **({} if kind == "GlobalAveragePool" else window))
        return self.requantised(Value(name, (*value.shape[:2], *sizes)), exact=True, about=float(value.scale))

    def operator_of_numbers(self, value):
        dtype = value.dtype
        if len(value.shape) == 4 and not self.one_in(4):
            attributes, shape, result = self.window(value)
            w, scale, zero = self.weight(shape, shape[0], exact=False)
            kind, depth = "QLinearConv", w[0].size
        else:
            depth, columns, attributes = value.shape[-1], prime(self.random), {}
            w, scale, zero = self.weight((depth, columns), columns, exact=False)
            scale, zero = scale.reshape(-1)[0], np.int8(0)
            kind, result = "QLinearMatMul", (*value.shape[:-1], columns)
        about = float(value.scale * np.max(scale)) * 99 * max(1, depth) ** 0.5
        y_scale, y_zero = self.scale(False, about * (0.05 if self.one_in(5) else 1)), zero_point(self.random, dtype)
        inputs = [value, value.scale, value.zero, w, scale, zero, y_scale, y_zero]
        if kind == "QLinearConv" and self.one_in(2):
            inputs.append(self.random.integers(-9999, 9999, w.shape[0]).astype(np.int32))
        return Value(self.add(kind, inputs, **attributes), result, dtype, y_scale, y_zero)

    def dynamic(self, value):
        # The smallest of no numbers is not defined.
        if self.is_empty or self.one_in(5):
            return Value(self.add(self.random.choice(["Relu", "Neg", "Abs"]), [value]), value.shape)
        q, scale, zero = self.add("DynamicQuantizeLinear", [value])
        depth, columns = value.shape[-1], prime(self.random)
        w, w_scale = numbers(self.random, np.int8, (depth, columns)), self.scale(False, 0.02)
        sums = self.add("Cast", [self.add("MatMulInteger", [q, w, zero, np.int8(0)])], to=TensorProto.FLOAT)
        name = self.add("Mul", [sums, self.add("Mul", [scale, w_scale])])
        if self.one_in(2):
            name = self.add("Add", [name, self.random.standard_normal(columns).astype(np.float32)])
        return Value(name, (*value.shape[:-1], columns))
