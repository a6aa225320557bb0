"""Small models made on the spot, run by Fathom and by ONNX Runtime."""
import os
import random

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import fathom

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}


def make_model(nodes, inputs, weights, outputs=("y",)):
    """A model of these nodes; inputs and weights are arrays by name."""
    infos = [helper.make_tensor_value_info(name, TYPES[array.dtype], array.shape) for name, array in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "g", infos, results, [numpy_helper.from_array(w, n) for n, w in weights.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def compare(nodes, inputs, weights, outputs=("y",), tolerance=2e-5, **options):
    """Runs the model at one and two threads and compares with ONNX Runtime; the same bits at both. Options are those of fathom.compile."""
    model = make_model(nodes, inputs, weights, outputs)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, inputs)
    artifact = fathom.compile(model, **options)
    one, two = (fathom.Session(artifact, threads=threads).run(None, inputs) for threads in (1, 2))
    for got, other, want in zip(one, two, expected):
        assert got.tobytes() == other.tobytes(), "results depend on the thread count"
        assert got.shape == want.shape
        scale = np.abs(want).max() if want.size else 1
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=tolerance * max(scale, 1e-6))


def round_trip(proto, folder, **options):
    """Files of a model's plan and artifact; the plan, given back, makes the same artifact. Options are those of fathom.compile."""
    plan, artifact, again = folder / "plan", folder / "first.fathom", folder / "second.fathom"
    fathom.compile(proto, output=str(plan), emit="plan", **options)
    fathom.compile(proto, output=str(artifact), **options)
    fathom.compile(proto, output=str(again), plan=str(plan))
    assert artifact.read_bytes() == again.read_bytes()
    return plan, artifact


@pytest.fixture
def seed(request):
    """A fresh seed for every run, printed with a failure; FATHOM_TEST_SEED repeats one."""
    value = int(os.environ.get("FATHOM_TEST_SEED", random.SystemRandom().randrange(1 << 31)))
    print(f"repeat with FATHOM_TEST_SEED={value}")
    return value


@pytest.fixture(name="random")
def numbers(seed):
    """Random numbers that are fresh in every run."""
    return np.random.default_rng(seed)
