"""Bounds of the rounding errors of products and convolutions, element by element, against double precision.

docs/dev/numerics.md derives them. Each is made of what the element itself is computed from: what stands in other rows, pixels or
channels does not matter.
"""
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from onnx import helper

EPSILON = 2.0**-23
LONGEST_CHAIN = 512
# For tiles of so many pixels, and the steps besides the sum over channels: as numerics.md says.
WINOGRAD = {2: 8, 4: 431}
WINOGRAD_STEPS = 32


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


class Convolution:
    """A Conv node's windows: float64 results of any rank, for what a sum of products and a largest input need."""

    def __init__(self, node, x, w):
        given, self.rank = attributes(node), x.ndim - 2
        self.group, self.kernel = given.get("group", 1), w.shape[2:]
        self.strides = given.get("strides", [1] * self.rank)
        self.dilations = given.get("dilations", [1] * self.rank)
        self.pads = given.get("pads", [0] * 2 * self.rank)
        self.is_plain = given.get("auto_pad", b"NOTSET") == b"NOTSET"

    def padded(self, x, more=0):
        pads = zip(self.pads[: self.rank], self.pads[self.rank :])
        return np.pad(x, [(0, 0), (0, 0)] + [(low, high + more) for low, high in pads])

    def __call__(self, x, w):
        extents = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations)]
        windows = sliding_window_view(self.padded(x), extents, axis=tuple(range(2, 2 + self.rank)))
        steps = [slice(None, None, s) for s in self.strides] + [slice(None, None, d) for d in self.dilations]
        windows = windows[(slice(None), slice(None), *steps)]
        n, channels, *size = windows.shape[: 2 + self.rank]
        windows = windows.reshape(n, self.group, channels // self.group, *windows.shape[2:])
        weights = w.reshape(self.group, w.shape[0] // self.group, *w.shape[1:])
        letters = "abc"[: self.rank], "xyz"[: self.rank]
        product = np.einsum(f"ngi{letters[0]}{letters[1]},goi{letters[1]}->ngo{letters[0]}", windows, weights, optimize=True)
        return product.reshape(n, w.shape[0], *size)

    def largest_in_tile(self, x, tile, outputs):
        """For every result, the largest input of its own tile, over all channels of its group."""
        images, channels, *size = x.shape
        by_group = np.abs(x).reshape(images, self.group, channels // self.group, *size).max(axis=2)
        padded = self.padded(by_group, tile + 2)
        tiles = sliding_window_view(padded, (tile + 2, tile + 2), axis=(2, 3))[:, :, ::tile, ::tile].max(axis=(4, 5))
        largest = tiles.repeat(tile, axis=2).repeat(tile, axis=3)[:, :, : outputs[2], : outputs[3]]
        return largest.repeat(outputs[1] // self.group, axis=1)

    def takes_winograd(self):
        ones = [1] * self.rank
        return self.rank == 2 and self.kernel == (3, 3) and list(self.strides) == ones and list(self.dilations) == ones


def product_of(node, operands, absolute=False):
    """The node's result in double precision, or that of all absolute values; None where it is no sum of products that is known here."""
    if absolute:
        operands = [np.abs(x) for x in operands]
    if node.op_type == "MatMul":
        return operands[0] @ operands[1]
    if node.op_type == "Gemm":
        given = attributes(node)
        a, b = (x.T if given.get(f"trans{n}") else x for x, n in zip(operands, "AB"))
        alpha, beta = (abs(x) if absolute else x for x in (given.get("alpha", 1.0), given.get("beta", 1.0)))
        return alpha * (a @ b) + (beta * operands[2] if len(operands) > 2 else 0)
    if node.op_type == "Conv":
        convolution = Convolution(node, *operands[:2])
        if not convolution.is_plain:
            return None
        result = convolution(*operands[:2])
        return result + operands[2].reshape(-1, *[1] * convolution.rank) if len(operands) > 2 else result
    return None


def chain_of(depth):
    """How many additions one after the other a product of so many steps is in."""
    return min(depth, LONGEST_CHAIN) + depth / LONGEST_CHAIN + 3


def multiple_of_epsilon(depth):
    """Of the sum of an element's absolute products. Errors of n additions that have nothing to do with each other are beyond
    3 sqrt(n) halves of epsilon in one of ten million elements; the worst case, n halves, is numerics.md's promise."""
    return 1.5 * np.sqrt(chain_of(depth))


def depth_of(node, operands):
    return operands[1][0].size if node.op_type == "Conv" else operands[0].shape[0 if attributes(node).get("transA") else -1]


def product_bound(node, operands):
    """Of one product or convolution by its definition."""
    return multiple_of_epsilon(depth_of(node, operands)) * EPSILON * product_of(node, operands, absolute=True)


def winograd_bound(node, operands, tile):
    """Of a convolution in Winograd's tiles."""
    x, w = operands[:2]
    convolution = Convolution(node, x, w)
    outputs = convolution(x, w).shape
    filters = np.abs(w).sum(axis=(1, 2, 3)).reshape(1, -1, 1, 1)
    steps = chain_of(w.shape[1]) + WINOGRAD_STEPS
    bound = WINOGRAD[tile] * EPSILON * steps * convolution.largest_in_tile(x, tile, outputs) * filters
    if len(operands) > 2:
        bound = bound + EPSILON * np.abs(operands[2]).reshape(1, -1, 1, 1)
    return bound


def bound_of(node, operands, options):
    """How far a single node's result may be from double precision; None where nothing is promised, or not known here."""
    operands = [np.asarray(x, np.float64) for x in operands]
    if options.get("fp") == "fastest" or product_of(node, operands) is None:
        return None
    bound = product_bound(node, operands)
    algorithm = options.get("conv_algorithm", "auto")
    may_transform = options.get("fp") != "strict" and (algorithm == "auto" or algorithm.startswith("winograd"))
    if node.op_type == "Conv" and may_transform and Convolution(node, *operands[:2]).takes_winograd():
        bound = np.maximum(bound, winograd_bound(node, operands, 2 if algorithm == "winograd2" else 4))
    return bound


def assert_within(got, node, operands, **options):
    """Every element of a node's result keeps its own bound. Options are those of fathom.compile."""
    bound = bound_of(node, operands, options)
    if bound is None or not got.size:
        return
    want = product_of(node, [np.asarray(x, np.float64) for x in operands])
    # Sums of nothing but the smallest numbers.
    excess = np.abs(got - want) / (bound + 1e-37)
    worst = np.unravel_index(excess.argmax(), excess.shape)
    assert excess.max() <= 1, f"{got[worst]} at {worst} instead of {want[worst]}: {excess.max():.2f} times the bound"
