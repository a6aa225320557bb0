"""InferenceSession beside ONNX Runtime's: the same script, with another import, sees the same."""

import json
import logging
import os
import threading

import fathom
import fathom.onnxruntime
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from support.compare import assert_close
from support.models import FLOAT, INT64, make_model, optional, sequence, value
from support.networks import perceptron


@pytest.fixture(autouse=True)
def kept(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path_factory.mktemp("kept")))


def script(ort, model, x):
    """What users write; `ort` is the one import that differs."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    session = ort.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])
    assert "CPUExecutionProvider" in session.get_providers()
    described = [[(arg.name, arg.type, list(arg.shape)) for arg in args] for args in (session.get_inputs(), session.get_outputs())]
    name = session.get_inputs()[0].name
    results = [session.run(None, {name: x}), session.run([], {name: x}), session.run([session.get_outputs()[1].name], {name: x})]
    binding = session.io_binding()
    binding.bind_cpu_input(name, x)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    session.run_with_iobinding(binding)
    results.append(binding.copy_outputs_to_cpu())
    results.append([each.numpy() for each in session.run_with_ort_values(None, {name: ort.OrtValue.ortvalue_from_numpy(x)})])
    meta = session.get_modelmeta()
    told = [getattr(meta, key) for key in ("custom_metadata_map", "description", "domain", "graph_description", "graph_name", "producer_name", "version")]
    return described, told, results


def test_the_same_script(random):
    model = perceptron()
    model.producer_name, model.domain, model.doc_string, model.model_version = "somebody", "some.where", "does something", 7
    model.graph.doc_string = "a graph"
    helper.set_model_props(model, {"author": "me", "license": "free"})
    x = random.standard_normal((3, 16)).astype(np.float32)
    theirs, ours = (script(ort, model.SerializeToString(), x) for ort in (onnxruntime, fathom.onnxruntime))
    assert ours[:2] == theirs[:2]
    for got, want in zip(ours[2], theirs[2], strict=True):
        for one, other in zip(got, want, strict=True):
            assert one.dtype == other.dtype
            assert_close(one, other, "network")


@pytest.mark.parametrize("version", [-3, 0, 1 << 40])
def test_versions(version):
    model = perceptron()
    model.model_version = version
    data = model.SerializeToString()
    assert fathom.InferenceSession(data).get_modelmeta().version == onnxruntime.InferenceSession(data).get_modelmeta().version


def test_what_a_session_is_made_of(tmp_path, random):
    model = perceptron()
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    compiled = fathom.compile(model, str(tmp_path / "model.fathom"))
    artifact = fathom.compile(model)
    x = random.standard_normal((5, 16)).astype(np.float32)
    want = fathom.Session(artifact).run(None, {"x": x})
    with open(compiled, "rb") as file:
        compiled_bytes = file.read()
    for given in (path, str(path), model, model.SerializeToString(), compiled, compiled_bytes, artifact, fathom.Model(artifact)):
        with fathom.InferenceSession(given) as session:
            for got, other in zip(session.run(None, {"x": x}), want, strict=True):
                np.testing.assert_array_equal(got, other)
        with pytest.raises(fathom.Error, match="the session is closed"):
            session.run(None, {"x": x})
    assert len(fathom.cache.entries()) == 2  # by the file's name and without one


@pytest.mark.parametrize("given", [b"", b"no model", "missing.onnx", b"\x7fELF"])
def test_what_no_session_is_made_of(given):
    with pytest.raises(fathom.Error):
        fathom.InferenceSession(given)


def test_types_and_kinds():
    """As ONNX Runtime spells them."""
    nodes = [
        helper.make_node("SequenceAt", ["s", "i"], ["a"]),
        helper.make_node("SequenceInsert", ["s", "a"], ["t"]),
        helper.make_node("Identity", ["o"], ["p"]),
        helper.make_node("Identity", ["words"], ["same"]),
    ]
    inputs = [sequence("s", FLOAT, [None]), value("i", [], INT64), optional("o", value("", ["n", 2])), value("words", [None, 3], TensorProto.STRING)]
    outputs = [sequence("t", FLOAT, [None]), value("p", None), value("same", [None, 3], TensorProto.STRING)]
    outputs[1] = optional("p", value("", ["n", 2]))
    model = make_model(nodes, inputs, outputs).SerializeToString()
    ours, theirs = fathom.InferenceSession(model), onnxruntime.InferenceSession(model)
    for mine, other in zip([*ours.get_inputs(), *ours.get_outputs()], [*theirs.get_inputs(), *theirs.get_outputs()], strict=True):
        assert (mine.name, mine.type) == (other.name, other.type)
    assert ours.get_inputs()[3].shape[1] == 3 and not isinstance(ours.get_inputs()[3].shape[0], int)


def test_lists_are_tensors():
    session = fathom.InferenceSession(make_model([helper.make_node("Neg", ["x"], ["y"])], [value("x", [3])], [value("y", [3])]))
    np.testing.assert_array_equal(session.run(None, {"x": [1, 2, 3]})[0], np.float32([-1, -2, -3]))


def test_overridden_dimensions():
    options = fathom.SessionOptions()
    options.add_free_dimension_override_by_name("batch", 4)
    session = fathom.InferenceSession(perceptron(), options)
    assert session.get_inputs()[0].shape == [4, 16]
    with pytest.raises(fathom.Error):
        session.run(None, {"x": np.ones((5, 16), np.float32)})


def test_options_for_the_compiler():
    session = fathom.InferenceSession(perceptron(), providers=[("FathomExecutionProvider", {"fp": "strict"}), "CPUExecutionProvider"])
    assert session._session.manifest["fp"] == "strict"
    options = fathom.SessionOptions()
    options.compile_options = {"fp": "strict"}
    assert fathom.InferenceSession(perceptron(), options)._session.manifest["fp"] == "strict"
    session = fathom.InferenceSession(perceptron(), providers=["FathomExecutionProvider"], provider_options=[{"fp": "strict"}])
    assert session._session.manifest["fp"] == "strict"


def test_options_without_effect_are_told(caplog):
    options = fathom.SessionOptions()
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    with caplog.at_level(logging.INFO, "fathom"):
        fathom.InferenceSession(perceptron(), options, providers=["CUDAExecutionProvider"], disabled_optimizers=["x"])
    for words in ("enable_mem_pattern has no effect", "allow_spinning has no effect", "CUDAExecutionProvider has no effect", "disabled_optimizers"):
        assert words in caplog.text
    with pytest.raises(AttributeError, match="no option 'intra_op_threads'"):
        options.intra_op_threads = 1


def test_concurrent_runs_and_callbacks(random):
    session = fathom.InferenceSession(perceptron())
    inputs = [random.standard_normal((n, 16)).astype(np.float32) for n in (1, 2, 3, 5, 7)]
    seen, done = {}, threading.Semaphore(0)

    def callback(results, user_data, error):
        seen[user_data] = (results, error)
        done.release()

    for i, x in enumerate(inputs):
        session.run_async(["y"], {"x": x}, callback, i)
    session.run_async(["y"], {"q": inputs[0]}, callback, "wrong")
    for _ in range(len(inputs) + 1):
        assert done.acquire(timeout=60)
    session.close()
    assert "no input 'q'" in seen.pop("wrong")[1]
    for i, (results, error) in seen.items():
        assert error == ""
        np.testing.assert_array_equal(results[0], fathom.Session(fathom.compile(perceptron())).run(["y"], {"x": inputs[i]})[0])


def test_bound_memory(random):
    """Inputs are read and outputs written where they lie."""
    session = fathom.InferenceSession(perceptron())
    x = random.standard_normal((3, 16)).astype(np.float32)
    want = session.run(None, {"x": x})
    y = fathom.onnxruntime.OrtValue.ortvalue_from_shape_and_type([3, 8], np.float32)
    r = np.zeros((3, 24), np.float32)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    binding.bind_ortvalue_output("y", y)
    binding.bind_output("r", "cpu", 0, 1, r.shape, r.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(y.numpy(), want[0])
    np.testing.assert_array_equal(r, want[1])
    assert binding.get_outputs()[0].data_ptr() == y.data_ptr()
    x *= 2
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(r, session.run(["r"], {"x": x})[0])
    with pytest.raises(fathom.Error, match="the device is 'cuda'"):
        binding.bind_output("y", "cuda")
    binding.clear_binding_outputs()
    session.run_with_iobinding(binding)
    assert binding.get_outputs() == []


def test_values(random):
    array = random.standard_normal((2, 3)).astype(np.float32)
    ours, theirs = (ort.OrtValue.ortvalue_from_numpy(array) for ort in (fathom.onnxruntime, onnxruntime))
    for name in ("shape", "data_type", "element_type", "device_name", "has_value", "is_tensor", "is_tensor_sequence", "is_sparse_tensor",
                 "tensor_size_in_bytes"):  # fmt: skip
        assert getattr(ours, name)() == getattr(theirs, name)()
    ours.update_inplace(array * 2)
    np.testing.assert_array_equal(np.from_dlpack(ours), array)
    assert np.from_dlpack(ours).ctypes.data == ours.data_ptr() == array.ctypes.data
    assert fathom.onnxruntime.OrtValue.from_dlpack(array).data_ptr() == array.ctypes.data
    np.testing.assert_array_equal(np.asarray(ours), array)


def test_profiling(tmp_path):
    options = fathom.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "trace_")
    session = fathom.InferenceSession(perceptron(), options)
    for _ in range(3):
        session.run(None, {"x": np.ones((5, 16), np.float32)})
    path = session.end_profiling()
    assert os.path.dirname(path) == str(tmp_path)
    events = [event for event in json.load(open(path))["traceEvents"] if event["ph"] == "X"]
    assert {event["args"]["run"] for event in events} == {0, 1, 2}
    launched = {event["name"] for event in events}
    assert launched <= {name for name, _ in session._session.model.kernels} and launched
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in events)
    assert {nodes for event in events for nodes in event["args"]["nodes"].split(",")} <= {node.name for node in perceptron().graph.node}
    # Nothing is noted any more.
    session.run(None, {"x": np.ones((5, 16), np.float32)})
    assert session._session._runner.take_profile() == []
    assert fathom.InferenceSession(perceptron()).end_profiling() == ""


def test_a_run_that_is_terminated():
    options = fathom.onnxruntime.RunOptions()
    options.terminate = True
    with pytest.raises(fathom.Error, match="was terminated"):
        fathom.InferenceSession(perceptron()).run(None, {"x": np.ones((5, 16), np.float32)}, options)
