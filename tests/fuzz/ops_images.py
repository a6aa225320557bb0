"""Declarations of pooling, resizing and sampling."""
import numpy as np

from catalog import op
from ops_products import window
from values import FLOATS


def pool(name, extra=lambda g: {}):
    @op(name)
    def declare(g):
        spatial = g.choose([1, 2, 2, 3])
        kernel, attributes, image = window(g, spatial, [0, 13, 9, 4][spatial])
        if not g.takes("dilations"):
            attributes.pop("dilations")
        # With strides beyond the window ONNX Runtime pads by less than nothing here, by nothing in Conv, and refuses the other pools.
        if name in ("LpPool", "MaxPool") and attributes["auto_pad"] in ("SAME_UPPER", "SAME_LOWER") and attributes["strides"]:
            attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel, strict=True)]
        # Windows that end in the padding, and those that lie there alone, follow different rules in different versions.
        attributes["ceil_mode"] = 1 if g.takes("ceil_mode") and attributes["auto_pad"] is None and g.chance(0.2) else None
        images = [v for v in g.values if v.rank == spatial + 2 and v.dtype in g.types(0) and all(s >= r for s, r in zip(v.shape[2:], image, strict=True))]
        x = g.arg(0, shape=g.choose(images).shape) if images and g.chance(0.6) else g.arg(0, shape=(g.size(1, 3), g.size(1, 8), *image))
        # ONNX's evaluator, which computes the types that ONNX Runtime does not, repeats elements where a window of LpPool ends behind the image.
        if name == "LpPool" and x.dtype != np.float32:
            attributes["ceil_mode"] = None
        g.node(x, kernel_shape=kernel, **attributes, **extra(g))


pool("AveragePool", lambda g: {"count_include_pad": g.integer(0, 1)})
pool("LpPool", lambda g: {"p": g.integer(1, 3)})


@op("MaxPool")
def max_pool(g):
    spatial = g.choose([1, 2, 2, 3])
    kernel, attributes, image = window(g, spatial, [0, 13, 9, 4][spatial])
    x = g.arg(0, shape=(g.size(1, 3), g.size(1, 8), *image))
    if g.chance(0.25):
        attributes["ceil_mode"] = 1 if attributes["auto_pad"] is None else None
    g.node(x, kernel_shape=kernel, outputs=2, keep=[0] if g.chance(0.7) else [0, 1], **attributes)


for name in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):

    @op(name)
    def global_pool(g):
        x = g.arg(0, rank=(3, 5), sizes=(1, None))
        g.node(x, p=g.integer(1, 3) if g.takes("p") else None)


@op("MaxRoiPool")
def max_roi_pool(g):
    n = g.integer(1, 2)
    x = g.arg(0, shape=(n, g.integer(1, 3), g.integer(3, 9), g.integer(3, 9)))
    count = g.integer(1, 4)
    low = g.random.integers(0, 3, (count, 2))
    boxes = np.concatenate([g.random.integers(0, n, (count, 1)), low, low + g.random.integers(0, 4, (count, 2))], 1)
    g.node(x, g.given(1, boxes.astype(x.dtype), x.dtype, run_time=0.8), pooled_shape=[g.integer(1, 3), g.integer(1, 3)])


@op("RoiAlign")
def roi_align(g):
    n = g.integer(1, 2)
    x = g.arg(0, shape=(n, g.integer(1, 3), g.integer(3, 9), g.integer(3, 9)))
    count = g.integer(1, 4)
    low = g.random.uniform(0, 3, (count, 2))
    boxes = np.concatenate([low, low + g.random.uniform(0.5, 4, (count, 2))], 1)
    g.node(x, g.given(1, boxes.astype(x.dtype), x.dtype, run_time=0.8), g.given(2, g.random.integers(0, n, count), np.int64, run_time=0.5),
           output_height=g.integer(1, 3), output_width=g.integer(1, 3), sampling_ratio=g.integer(0, 2), mode=g.choose(["avg", "max"]) if g.chance(0.3) else None)


@op("Resize", 2)
def resize(g):
    mode = g.choose(["nearest", "linear", "cubic"])
    planes = g.shape((0 if mode == "linear" else 1, 2), low=1, high=3)
    if mode != "nearest":
        planes = (g.size(1, 3), g.size(1, 3))
    x = g.arg(0, shape=(*planes, g.size(2, 7), g.size(2, 7)), types=[t for t in g.types(0) if t in FLOATS or mode == "nearest"])
    coordinates = g.choose(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    # Halves and quarters are exact: others decide by their rounding which pixel is the nearest.
    sizes = [*x.shape[:-2], *(s * g.choose([1, 2, 3]) if g.chance(0.7) else max(1, s // 2) for s in x.shape[-2:])]
    rounding = g.choose(["round_prefer_floor", "floor", "ceil", "round_prefer_ceil"]) if mode == "nearest" else None
    if g.chance(0.5):
        g.node(x, None, None, g.given(3, np.array(sizes, np.int64)), mode=mode, coordinate_transformation_mode=coordinates, nearest_mode=rounding)
    else:
        # ONNX Runtime rounds a fraction of a pixel away before it looks where the corners are.
        scales = [1.0] * len(planes) + [g.choose([1.0, 2.0, 4.0, 1.0 if coordinates == "align_corners" and s % 2 else 0.5]) for s in x.shape[-2:]]
        g.node(x, None, g.given(2, np.array(scales, np.float32)), mode=mode, coordinate_transformation_mode=coordinates, nearest_mode=rounding)


@op("GridSample")
def grid_sample(g):
    modes = ["bilinear", "nearest", "bicubic"] if g.opset < 20 else ["linear", "nearest", "cubic"]
    mode = g.choose(modes)
    # What lies between two integers is not said.
    x = g.arg(0, shape=(g.integer(1, 2), g.integer(1, 3), g.size(2, 7), g.size(2, 7)), types=None if mode == "nearest" else FLOATS)
    grid = g.arg(1, shape=(x.shape[0], g.size(1, 5), g.size(1, 5), 2), low=-1.3, high=1.3, types=[x.dtype] if x.dtype in g.types(1) else None)
    g.node(x, grid, mode=mode, padding_mode=g.choose(["zeros", "border", "reflection"]), align_corners=g.integer(0, 1))


@op("AffineGrid")
def affine_grid(g):
    n = g.integer(1, 2)
    spatial = g.choose([2, 2, 3])
    theta = g.arg(0, shape=(n, spatial, spatial + 1))
    # Where the corners of a single point are is not said.
    corners = g.integer(0, 1)
    sizes = [n, g.integer(1, 3), *(g.size(1 + corners, 5) for _ in range(spatial))]
    g.node(theta, g.given(1, np.array(sizes, np.int64)), align_corners=corners)


@op("Upsample")
def upsample(g):
    x = g.arg(0, rank=4)
    g.node(x, g.given(1, np.array([1, 1, 2, 2], np.float32)), mode="nearest")
