"""ONNX's interface for backends, and ONNX's own runner of tests on it.

FATHOM_TEST_PART=N takes one case of the runner in N, others with every seed; without it all of them run.
"""

import os
import unittest
import warnings

import fathom
import fathom.backend
import numpy as np
import pytest
from onnx import helper
from support.networks import perceptron
from support.tool import ROOT

EXPECTED = ROOT / "tests" / "conformance" / "expected"


def test_a_model(random):
    x = random.standard_normal((3, 16)).astype(np.float32)
    want = fathom.Session(fathom.compile(perceptron())).run(None, {"x": x})
    prepared = fathom.backend.prepare(perceptron(), device="CPU", threads=1)
    for inputs in (x, [x], (x,), {"x": x}):
        results = prepared.run(inputs)
        np.testing.assert_array_equal(results[0], want[0])
        np.testing.assert_array_equal(results["r"], want[1])
    np.testing.assert_array_equal(fathom.backend.run_model(perceptron(), [x]).y, want[0])
    with pytest.raises(fathom.Error, match="got 2 inputs, the model has 1"):
        prepared.run([x, x])


def test_devices():
    assert fathom.backend.supports_device("CPU") and fathom.backend.supports_device("CPU:0")
    assert not fathom.backend.supports_device("CUDA:0")
    with pytest.raises(fathom.Error, match="F1012.*the device is 'CUDA'"):
        fathom.backend.prepare(perceptron(), "CUDA")


def test_what_is_compatible():
    assert fathom.backend.is_compatible(perceptron())
    model = perceptron()
    model.graph.node[0].op_type = "Unheard"
    assert not fathom.backend.is_compatible(model)


def test_single_nodes(random):
    x, y = (random.standard_normal((3, 5)).astype(np.float32) for _ in range(2))
    node = helper.make_node("Add", ["x", "y"], ["z"])
    np.testing.assert_array_equal(fathom.backend.run_node(node, [x, y])[0], x + y)
    told = fathom.backend.run_node(node, [x, y], outputs_info=[(np.float32, (3, 5))])
    np.testing.assert_array_equal(told.z, x + y)
    clip = helper.make_node("Clip", ["x", "", "high"], ["z"])
    high = np.float32(0.25)
    np.testing.assert_array_equal(fathom.backend.run_node(clip, [x, None, high])[0], np.minimum(x, high))
    values, indices = fathom.backend.run_node(helper.make_node("TopK", ["x", "k"], ["v", "i"], axis=1), [x, np.array([2])])
    np.testing.assert_array_equal(indices, np.argsort(-x, axis=1, kind="stable")[:, :2])
    np.testing.assert_array_equal(values, np.take_along_axis(x, indices, 1))
    assert fathom.backend.run_node(helper.make_node("Add", ["x", "y"], ["z"]), [x, y], opset_version=7)[0].shape == (3, 5)
    with pytest.raises(fathom.Error, match="got 1 inputs, the node has 2"):
        fathom.backend.run_node(node, [x])


def known_failures():
    """Cases that are known not to pass; those of the runner that are no single nodes in a list of their own."""
    names = set()
    for name in ("newest.txt", "runner.txt"):
        lines = (EXPECTED / name).read_text().splitlines()
        names |= {line.split(":")[0] for line in lines if line and not line.startswith("#")}
    return names


def cases():
    """The runner's tests on the CPU but those whose models it would download, by name."""
    import onnx.backend.test

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cases divide by zero on purpose
        runner = onnx.backend.test.BackendTest(fathom.backend, __name__)
    found = {}
    for category, case in runner.test_cases.items():
        if "Real" not in category:
            for name in unittest.defaultTestLoader.getTestCaseNames(case):
                if name.endswith("_cpu"):
                    found[name.removesuffix("_cpu")] = case(name)
    return found


def test_onnx_runner(random):
    """What ONNX's runner says of each case is what the lists say, both ways: a case that the backend leaves out counts as one that fails."""
    found, known = cases(), known_failures()
    assert len(found) > 1500 and known <= found.keys()
    part = int(os.environ.get("FATHOM_TEST_PART", 1))
    names = random.permutation(sorted(found))[: -(-len(found) // part)].tolist()
    wrong = {}
    for name in names:
        result = unittest.TestResult()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name].run(result)
        problems = [text for _, text in [*result.failures, *result.errors, *result.skipped]]
        if bool(problems) != (name in known):
            wrong[name] = problems[0].strip().splitlines()[-1] if problems else "passes, though it is in the list of those that do not"
    assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())
