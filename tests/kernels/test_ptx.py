"""Kernels of every class as PTX: NVIDIA's assembler, where there is one, takes them all, and they call nothing."""
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest
from onnx import helper, numpy_helper
from simt import compile, node, save

PTXAS = shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")

NODES = [
    node("Erf", ["x"], "map"), node("Concat", ["x", "x"], "concat", axis=1), node("ReduceSum", ["x", "axes"], "reduce"), node("ArgMax", ["x"], "arg_reduce", axis=1),
    node("Softmax", ["x"], "softmax"), node("LayerNormalization", ["x", "row"], "layer_norm"), node("MaxPool", ["x"], "pool", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    node("MatMul", ["x", "w"], "product"), node("Conv", ["x", "filters"], "convolution", pads=[1, 1, 1, 1]), node("ConvTranspose", ["x", "filters"], "transposed"),
    node("CumSum", ["x", "axis"], "scan"), node("ScatterElements", ["x", "i", "x"], "sequential", axis=3, reduction="add"), node("NonZero", ["x"], "nonzero"),
    helper.make_node("TopK", ["x", "k"], ["top", ""], name="TopK_top"), node("Unique", ["flat"], "unique"), node("NonMaxSuppression", ["boxes", "scores", "k", "threshold"], "selected"),
    node("Mod", ["x", "x"], "modulo", fmod=1), node("Cast", ["x"], "half", to=10), node("Softmax", ["half"], "halves"), node("Cast", ["x"], "brain", to=16), node("Mul", ["brain", "brain"], "brains"),
]  # fmt: skip
INPUTS = {"x": ("f", ["n", 8, 9, 9]), "i": ("l", ["n", 8, 9, 9]), "flat": ("f", [9]), "boxes": ("f", [1, 40, 4]), "scores": ("f", [1, 2, 40])}
WEIGHTS = {"axes": np.array([1]), "axis": np.array(3), "k": np.array([3]), "row": np.ones(9, "f"), "w": np.ones((9, 33), "f"), "filters": np.ones((8, 8, 3, 3), "f"), "threshold": np.array([0.5], "f")}  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    weights = [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items()]
    types = dict.fromkeys([name for made in NODES for name in made.output if name and name != "half" and name != "brain"], "f")
    types |= dict.fromkeys(["arg_reduce", "nonzero", "selected"], "l") | {"halves": "e", "brains": "bf"}
    return save(tmp_path_factory.mktemp("model"), NODES, INPUTS, types, weights)


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_is_assembled(path, tmp_path, architecture):
    result = compile(path, "--emit", "asm", target="cuda:" + architecture)
    assert result.returncode == 0, result.stderr
    modules = re.split(r"(?=^\.version)", result.stdout, flags=re.M)[1:]
    assert len(modules) >= len(NODES)
    for number, module in enumerate(modules):
        assert ".extern" not in module and not re.search(r"^\s*call", module, re.M), module
        file = pathlib.Path(tmp_path, f"{number}.ptx")
        file.write_text(module)
        if PTXAS:
            done = subprocess.run([PTXAS, "-arch=" + architecture, "-o", tmp_path / "cubin", file], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr + module
