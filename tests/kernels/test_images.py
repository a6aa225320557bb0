"""Operators on images and the places in them: regions, grids, blocks, unpooling, against ONNX Runtime."""
import numpy as np
import pytest

import fathom
from support.compare import agree
from support.models import FLOAT, INT64, floats, model, node, prime

ROUNDS = 8


def boxes(random, count, height, width):
    """Boxes of all kinds: inside, across the border, without area."""
    corners = random.uniform(-0.2, 1.1, (count, 4))
    corners[:, 2:] = corners[:, :2] + random.uniform(0.01, 0.9, (count, 2))
    return (corners * [width, height, width, height]).astype(np.float32)


@pytest.mark.parametrize("samples", [0, 1, 3])
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("shift", ["half_pixel", "output_half_pixel", None])
def test_roi_align(shift, mode, samples, random):
    attributes = {"mode": mode, "output_height": 3, "output_width": 2, "sampling_ratio": samples, "spatial_scale": 0.5}
    if shift:
        attributes["coordinate_transformation_mode"] = shift
    proto = model([node("RoiAlign", "x rois batch", "y", **attributes)],
                  [("x", FLOAT, ["n", "c", "h", "w"]), ("rois", FLOAT, ["r", 4]), ("batch", INT64, ["r"])], [("y", FLOAT)],
                  opset=16 if shift else 10)
    feeds = []
    for _ in range(ROUNDS):
        n, height, width, count = prime(random), prime(random), prime(random), prime(random)
        feeds.append({"x": np.abs(floats(random, n, prime(random), height, width)),
                      "rois": 2 * boxes(random, count, height, width), "batch": random.integers(0, n, count)})
    agree(proto, feeds)


def test_roi_align_without_boxes(random):
    proto = model([node("RoiAlign", "x rois batch", "y", output_height=2, output_width=2)],
                  [("x", FLOAT, [1, 3, 8, 8]), ("rois", FLOAT, ["r", 4]), ("batch", INT64, ["r"])], [("y", FLOAT)], opset=16)
    x = floats(random, 1, 3, 8, 8)
    none = {"x": x, "rois": floats(random, 0, 4), "batch": np.zeros(0, np.int64)}
    some = {"x": x, "rois": boxes(random, 2, 8, 8), "batch": np.zeros(2, np.int64)}
    agree(proto, [none, some], dim={"r": (0, 10)})
    session = fathom.Session(fathom.compile(proto, dim={"r": (0, 10)}))
    with pytest.raises(fathom.Error, match="RoiAlign"):
        session.run(None, {**some, "batch": np.array([0, 5])})


def test_max_roi_pool(random):
    proto = model([node("MaxRoiPool", "x rois", "y", pooled_shape=[3, 2], spatial_scale=0.5)],
                  [("x", FLOAT, ["n", "c", "h", "w"]), ("rois", FLOAT, ["r", 5])], [("y", FLOAT)], opset=11)
    feeds = []
    for _ in range(ROUNDS):
        n, height, width, count = prime(random), prime(random, 3), prime(random, 3), prime(random)
        rois = np.round(2 * boxes(random, count, height, width))
        batch = random.integers(0, n, (count, 1))
        feeds.append({"x": floats(random, n, prime(random), height, width),
                      "rois": np.hstack([batch, rois]).astype(np.float32)})
    agree(proto, feeds)


@pytest.mark.parametrize("group, offsets", [(1, 1), (2, 1), (1, 2), (2, 4)], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_deform_conv(masked, group, offsets, random):
    kernel, strides, dilations, pads = [3, 2], [2, 1], [1, 2], [1, 0, 1, 2]
    names = "x w offset b mask" if masked else "x w offset b"
    proto = model([node("DeformConv", names, "y", kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads,
                        group=group, offset_group=offsets)],
                  [("x", FLOAT, ["n", 8, "height", "width"]), ("w", FLOAT, [4, 8 // group, 3, 2]),
                   ("offset", FLOAT, ["n", offsets * 12, "oh", "ow"]), ("b", FLOAT, [4])]
                  + [("mask", FLOAT, ["n", offsets * 6, "oh", "ow"])] * masked, [("y", FLOAT)], opset=19)
    feeds = []
    for _ in range(ROUNDS):
        n, height, width = prime(random), prime(random, 3), prime(random, 3)
        rows, columns = (height + 2 - 3) // 2 + 1, width + 2 - 3 + 1
        feed = {"x": floats(random, n, 8, height, width), "w": floats(random, 4, 8 // group, 3, 2),
                "offset": 2 * floats(random, n, offsets * 12, rows, columns), "b": floats(random, 4)}
        if masked:
            feed["mask"] = floats(random, n, offsets * 6, rows, columns)
        feeds.append(feed)
    agree(proto, feeds)


@pytest.mark.parametrize("axes", [None, [1], [-1, 0]], ids=str)
def test_center_crop_pad(axes, random):
    count = 3 if axes is None else len(axes)
    attributes = {} if axes is None else {"axes": axes}
    proto = model([node("CenterCropPad", "x shape", "y", **attributes)],
                  [("x", FLOAT, ["a", "b", "c"]), ("shape", INT64, [count])], [("y", FLOAT)], opset=18)
    feeds = [{"x": floats(random, *(prime(random) for _ in range(3))),
              "shape": np.array([prime(random) for _ in range(count)])} for _ in range(ROUNDS)]
    agree(proto, feeds)
    fixed = model([node("CenterCropPad", "x shape", "y")], [("x", FLOAT, [5, 8, "c"])], [("y", FLOAT)],
                  {"shape": np.array([8, 5, 4])}, opset=18)
    agree(fixed, [{"x": floats(random, 5, 8, prime(random))} for _ in range(ROUNDS)])


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("rank", [2, 3])
def test_affine_grid(rank, corners, random):
    proto = model([node("AffineGrid", "theta size", "y", align_corners=corners)],
                  [("theta", FLOAT, ["n", rank, rank + 1]), ("size", INT64, [rank + 2])], [("y", FLOAT)], opset=20)
    feeds = []
    for _ in range(ROUNDS):
        n = prime(random)
        sizes = [prime(random, 2) for _ in range(rank)]
        feeds.append({"theta": floats(random, n, rank, rank + 1), "size": np.array([n, 3, *sizes])})
    agree(proto, feeds)


CUTS = [({}, [2, 3]), ({"strides": [2, 1]}, [3, 2]), ({"dilations": [1, 2], "pads": [1, 0, 2, 1]}, [2, 2]),
        ({"strides": [2, 2], "pads": [1, 1, 1, 1]}, [3, 3])]


@pytest.mark.parametrize("attributes, block", CUTS, ids=str)
def test_col2im(attributes, block, random):
    proto = model([node("Col2Im", "x image block", "y", **attributes)],
                  [("x", FLOAT, ["n", 3 * block[0] * block[1], "l"]), ("image", INT64, [2])], [("y", FLOAT)],
                  {"block": np.array(block)}, opset=18)
    strides, dilations = attributes.get("strides", [1, 1]), attributes.get("dilations", [1, 1])
    pads = attributes.get("pads", [0] * 4)
    feeds = []
    for _ in range(ROUNDS):
        image = [prime(random, 5), prime(random, 5)]
        places = [(image[d] + pads[d] + pads[d + 2] - (block[d] - 1) * dilations[d] - 1) // strides[d] + 1 for d in range(2)]
        feeds.append({"x": floats(random, prime(random), 3 * block[0] * block[1], places[0] * places[1]),
                      "image": np.array(image)})
    agree(proto, feeds)


def test_max_unpool(random):
    window = {"kernel_shape": [2, 3], "strides": [2, 3]}
    proto = model([node("MaxPool", "x", "p i", **window), node("MaxUnpool", "p i", "y", **window)],
                  [("x", FLOAT, ["n", "c", "h", "w"])], [("y", FLOAT)], opset=11)
    feeds = [{"x": floats(random, prime(random), prime(random), 2 * prime(random), 3 * prime(random))} for _ in range(ROUNDS)]
    agree(proto, feeds)


IMAGE, BOXES, NUMBERS = ("x", FLOAT, [1, 8, 8, 8]), ("b", FLOAT, [2, 4]), ("n", INT64, [2])
BAD = [
    ("RoiAlign", [IMAGE, BOXES, NUMBERS], {"mode": "sum"}, "mode 'sum'"),
    ("RoiAlign", [IMAGE, BOXES, NUMBERS], {"output_height": 0}, "output_height 0"),
    ("RoiAlign", [IMAGE, BOXES, NUMBERS], {"sampling_ratio": -1}, "sampling_ratio -1"),
    ("RoiAlign", [IMAGE, BOXES, NUMBERS], {"coordinate_transformation_mode": "asymmetric"}, "asymmetric"),
    ("RoiAlign", [IMAGE, ("b", FLOAT, [2, 5]), NUMBERS], {}, "4 columns"),
    ("MaxRoiPool", [IMAGE, ("b", FLOAT, [2, 5])], {"pooled_shape": [0, 2]}, "pooled_shape"),
    ("MaxRoiPool", [IMAGE, BOXES], {"pooled_shape": [2, 2]}, "rows of 5"),
    ("DeformConv", [IMAGE, ("w", FLOAT, [4, 8, 3, 3]), ("o", FLOAT, [1, 18, 6, 6])], {"strides": [0, 1]}, "strides"),
    ("DeformConv", [IMAGE, ("w", FLOAT, [4, 8, 3, 3]), ("o", FLOAT, [1, 18, 6, 6])], {"offset_group": 3}, "groups"),
    ("CenterCropPad", [IMAGE, ("s", INT64, [1])], {"axes": [4]}, "axis 4"),
    ("CenterCropPad", [IMAGE, ("s", INT64, [2])], {"axes": [1]}, "1 integers"),
    ("AffineGrid", [("t", FLOAT, [1, 2, 4]), ("s", INT64, [4])], {}, "theta"),
    ("AffineGrid", [("t", FLOAT, [1, 2, 3]), ("s", INT64, [3])], {}, "4 integers"),
    ("MaxUnpool", [IMAGE, ("i", INT64, [1, 8, 8, 8])], {}, "kernel_shape"),
    ("MaxUnpool", [IMAGE, ("i", INT64, [8])], {"kernel_shape": [2, 2]}, "MaxUnpool have types"),
]


@pytest.mark.parametrize("op, inputs, attributes, words", BAD, ids=[f"{op}-{words}" for op, _, _, words in BAD])
def test_bad_models(op, inputs, attributes, words):
    proto = model([node(op, [name for name, _, _ in inputs], "y", **attributes)], inputs, [("y", FLOAT)], opset=20)
    with pytest.raises(fathom.Error, match=words):
        fathom.compile(proto)


@pytest.mark.parametrize("block, words", [([2, 3], "multiple of blocks"), ([0, 2], "not positive")], ids=str)
def test_bad_blocks(block, words):
    proto = model([node("Col2Im", "x i k", "y")], [("x", FLOAT, [1, 8, 9]), ("i", INT64, [2])], [("y", FLOAT)],
                  {"k": np.array(block)}, opset=18)
    with pytest.raises(fathom.Error, match=words):
        fathom.compile(proto)
