"""Models of one kernel as OpenCL C, built and run by PoCL."""
import math
import os
import re
import subprocess

import numpy as np
from onnx import TensorProto, helper
from support import models
from support.tool import TOOL

TYPES = {"e": TensorProto.FLOAT16, "bf": TensorProto.BFLOAT16, "f": TensorProto.FLOAT, "d": TensorProto.DOUBLE, "i": TensorProto.INT32, "l": TensorProto.INT64, "b": TensorProto.INT8, "?": TensorProto.BOOL, "B": TensorProto.UINT8}
KERNEL = re.compile(r"__kernel void (\w+)\(")


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


def compute(device, tmp_path, nodes, inputs, outputs, expected, sizes=None, options=(), given=None, weights=()):
    """Runs a model that is one kernel with one output; `expected` is a function of the inputs. Sizes stand for dimensions by
    name, in the order in which the kernel's operands have them."""
    source = source_of(save(tmp_path, nodes, inputs, outputs, weights), *options)
    [kernel] = KERNEL.findall(source)
    shape_of = lambda dims: tuple((sizes or {}).get(d, d) for d in dims)
    numbers = random()
    arrays = {name: values(kind, shape_of(dims), numbers) for name, (kind, dims) in inputs.items()} | (given or {})
    want = expected(*arrays.values())
    [kind] = outputs.values()
    # A group more than elements fill: its items do nothing.
    groups = math.ceil(np.size(want) / 256) + 1
    empty = np.full(np.shape(want), 7).astype(kind)
    [got], fault = device.run(device.build(source), kernel, list(arrays.values()), [empty], (sizes or {}).values(), groups)
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
