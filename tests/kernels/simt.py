"""Models of one kernel as OpenCL C, built and run by PoCL."""
import os
import re
import subprocess

import numpy as np
from onnx import TensorProto, helper
from support import models
from support.tool import TOOL

TYPES = {"e": TensorProto.FLOAT16, "bf": TensorProto.BFLOAT16, "f": TensorProto.FLOAT, "d": TensorProto.DOUBLE, "i": TensorProto.INT32, "l": TensorProto.INT64, "b": TensorProto.INT8, "?": TensorProto.BOOL, "B": TensorProto.UINT8}
KERNEL = re.compile(r"__kernel void (\w+)\(")
# What is said of a kernel's grid.
NOTE = re.compile(r"// (\w+): (.*) groups of (\d+) items, with (\d+) bytes of scratch\n")


class Size(int):
    """What numbers of groups are printed with."""

    def __matmul__(self, other):
        return Size(-(-int(self) // int(other)))


for name in ("add", "mul", "sub", "floordiv", "mod", "radd", "rmul"):
    setattr(Size, f"__{name}__", lambda self, other, of=getattr(int, f"__{name}__"): Size(of(self, other)))


def groups_of(text, sizes):
    for word, sign in (("ceildiv", "@"), ("floordiv", "//"), ("mod", "%")):
        text = text.replace(word, sign)
    numbers = re.sub(r"(?<![\ws])\d+", r"Size(\g<0>)", text)
    return eval(numbers, {"Size": Size}, {f"s{i}": Size(size) for i, size in enumerate(sizes)})


def save(tmp_path, nodes, inputs, outputs, weights=()):
    """A model; inputs are name to (type, shape), outputs name to type."""
    infos = [models.value(name, shape, TYPES[kind]) for name, (kind, shape) in inputs.items()]
    results = [models.value(name, None, TYPES[kind]) for name, kind in outputs.items()]
    path = tmp_path / "model.onnx"
    path.write_bytes(models.model(nodes, infos, results, weights, opset=21).SerializeToString())
    return path


def compile(path, *options, target="opencl"):
    return subprocess.run([TOOL, "compile", path, "--target", target, "--quiet", *options], capture_output=True, text=True)


def source_of(path, *options):
    result = compile(path, "--emit", "asm", *options)
    assert result.returncode == 0, result.stderr
    return result.stdout


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=op + "_" + output, **attributes)


def random():
    return np.random.default_rng(int(os.environ.get("FATHOM_TEST_SEED", 7)))


def values(kind, shape, random):
    if kind in "efd":
        return random.normal(size=shape).astype(kind)
    if kind == "?":
        return random.random(shape) < 0.5
    return random.integers(-100 if kind != "B" else 0, 100, shape).astype(kind)


def run(device, source, kernel, arrays, empty, sizes=()):
    """Results and faults of the kernels with names that begin so: versions of one for some sizes, which must be right for all."""
    program, isRun = device.build(source), False
    for name, groups, items, scratch in NOTE.findall(source):
        count = groups_of(groups, sizes) if name.startswith(kernel) else 0
        if count:
            [got], fault = device.run(program, name, arrays, [empty], sizes, count, int(items), int(scratch))
            isRun = True
            yield got, fault
    if not isRun:
        yield empty, 0


def compute(device, tmp_path, nodes, inputs, outputs, expected, sizes=None, options=(), given=None, weights=()):
    """Runs a model that is one kernel with one output; `expected` is a function of the inputs. Sizes stand for dimensions by
    name, in the order in which the kernel's operands have them."""
    source = source_of(save(tmp_path, nodes, inputs, outputs, weights), *options)
    shape_of = lambda dims: tuple((sizes or {}).get(d, d) for d in dims)
    numbers = random()
    arrays = {name: values(kind, shape_of(dims), numbers) for name, (kind, dims) in inputs.items()} | (given or {})
    want = expected(*arrays.values())
    [kind] = outputs.values()
    empty = np.full(np.shape(want), 7).astype(kind)
    [*others, (got, fault)] = run(device, source, "fathom_", list(arrays.values()), empty, tuple((sizes or {}).values()))
    for other, _ in others:
        np.testing.assert_allclose(other, got, rtol=1e-3, atol=1e-3)
    return got, want, fault


def assert_close(got, want, ulps):
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
    else:
        eps = np.finfo(got.dtype).eps
        np.testing.assert_allclose(got, np.asarray(want, np.float64), rtol=ulps * eps, atol=ulps * eps)


def check(*arguments, ulps=4, **options):
    got, want, fault = compute(*arguments, **options)
    assert fault == 0
    assert_close(got, want, ulps)
