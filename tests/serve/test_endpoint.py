"""The endpoint, asked by a client that others wrote and by hand: answers, refusals, and how it ends."""

import gzip
import http.client
import json
import re
import signal
import subprocess
import sys
import time

import fathom
import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

ONE = {"name": "x", "shape": [1, 16], "datatype": "FP32", "data": [1.0] * 16}


def call(server, method, path, body=None, **headers):
    """The status, the headers and the body of a response."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): text for name, text in headers.items()})
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def infer(server, entry=ONE, model="mlp", **more):
    status, headers, body = call(server, "POST", f"/v2/models/{model}/infer", json.dumps({"inputs": [entry], **more}))
    return status, headers, json.loads(body)


def metric(server, name, **labels):
    """The value of a line of the metrics; 0 where there is none."""
    wanted = ",".join(f'{label}="{text}"' for label, text in labels.items())
    found = re.search(rf"^{name}{{{re.escape(wanted)}}} (\S+)$", call(server, "GET", "/metrics")[2].decode(), re.M)
    return float(found[1]) if found else 0.0


def wait_for(condition):
    while not condition():
        time.sleep(0.01)


def test_what_a_client_is_told(server):
    client = triton.InferenceServerClient(server.url)
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("mlp") and client.is_model_ready("other") and not client.is_model_ready("none")
    assert client.is_model_ready("mlp", "1")
    told = client.get_server_metadata()
    assert told["name"] == "fathom" and told["version"] == fathom.__version__ and "binary_tensor_data" in told["extensions"]
    told = client.get_model_metadata("mlp")
    assert told["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 16]}]
    assert [(entry["name"], entry["shape"]) for entry in told["outputs"]] == [("y", [-1, 8]), ("r", [-1, 24])]
    assert client.get_model_metadata("other")["inputs"][0]["shape"] == [2, 16]
    client.close()


@pytest.mark.parametrize("binary_in", [False, True])
@pytest.mark.parametrize("binary_out", [False, True])
def test_results_are_those_of_a_session(server, models, random, binary_in, binary_out):
    client = triton.InferenceServerClient(server.url)
    for model, path, batches in (("mlp", "mlp.fathom", (1, 3, 16)), ("other", "fixed.fathom", (2,))):
        session = fathom.Session(str(models / path))
        for batch in batches:
            x = random.standard_normal((batch, 16)).astype(np.float32)
            given = triton.InferInput("x", x.shape, "FP32")
            given.set_data_from_numpy(x, binary_data=binary_in)
            for names in (["y", "r"], ["r"], []):
                wanted = [triton.InferRequestedOutput(name, binary_data=binary_out) for name in names]
                result = client.infer(model, [given], outputs=wanted or None, request_id="17")
                assert result.get_response()["id"] == "17"
                for name, want in zip(["y", "r"], session.run(None, {"x": x})):
                    got = result.as_numpy(name)
                    assert (got is None) == (bool(names) and name not in names)
                    if got is not None:
                        assert got.dtype == want.dtype and got.shape == want.shape
                        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    client.close()


def test_compressed_requests(server):
    body = gzip.compress(json.dumps({"inputs": [ONE]}).encode())
    assert call(server, "POST", "/v2/models/mlp/infer", body, Content_Encoding="gzip")[0] == 200
    # What it is when it is unpacked counts.
    large = gzip.compress(b" " * (8 << 20))
    assert call(server, "POST", "/v2/models/mlp/infer", large, Content_Encoding="gzip")[0] == 413


@pytest.mark.parametrize(
    "method, path, body, headers, status, message",
    [
        ("POST", "/v2/models/mlp/infer", b"nonsense", {}, 400, "[F1012] the request is not JSON"),
        ("POST", "/v2/models/mlp/infer", b"{}", {}, 400, "[F1012] input 'x' is missing"),
        ("POST", "/v2/models/mlp/infer", b"{}", {"Inference_Header_Content_Length": "9"}, 400, "is 9, the body has 2 bytes"),
        ("POST", "/v2/models/mlp/infer", b"{}", {"Inference_Header_Content_Length": "-1"}, 400, "is not a number"),
        ("POST", "/v2/models/mlp/infer", b"{}", {"Inference_Header_Content_Length": "9" * 5000}, 400, "is not a number"),
        ("POST", "/v2/models/mlp/infer", b" " * (2 << 20), {}, 413, "Too Large"),
        ("POST", "/v2/models/none/infer", b"{}", {}, 404, "there is no model 'none'; there are mlp, other"),
        ("GET", "/v2/models/none", None, {}, 404, "there is no model 'none'"),
        ("GET", "/v2/models/mlp/versions/2", None, {}, 404, "Not Found"),
        ("GET", "/nothing", None, {}, 404, "Not Found"),
        ("GET", "/v2/models/mlp/infer", None, {}, 405, "Method Not Allowed"),
        ("DELETE", "/v2", None, {}, 405, "Method Not Allowed"),
    ],
)
def test_malformed_requests(server, method, path, body, headers, status, message):
    got, _, told = call(server, method, path, body, **headers)
    assert got == status and message in json.loads(told)["error"]
    assert infer(server)[0] == 200


@pytest.mark.parametrize(
    "entry, message",
    [
        ({**ONE, "shape": [1, 15], "data": [1.0] * 15}, "[F1012] input 'x' has shape [batch,16], the array [1,15]"),
        ({**ONE, "shape": [17, 16], "data": [1.0] * 272}, "got 17, compiled for 1 to 16"),
        ({**ONE, "datatype": "INT8"}, "has the datatype 'INT8', the model takes FP32"),
    ],
)
def test_inputs_that_do_not_fit(server, entry, message):
    status, _, told = infer(server, entry)
    assert status == 400 and told["code"] == "F1012" and message in told["error"]
    client = triton.InferenceServerClient(server.url)
    given = triton.InferInput("x", entry["shape"], entry["datatype"])
    given.set_data_from_numpy(np.ones(entry["shape"], triton.triton_to_np_dtype(entry["datatype"])))
    with pytest.raises(InferenceServerException, match="F1012"):
        client.infer("mlp", [given])
    client.close()


@pytest.fixture
def patient(serve, models):
    """A server at which requests of one item wait for others: its queue never is empty while one is there."""
    words = ["--max-batch", "2", "--max-wait", "3600", "--max-pending", "1", "--timeout", "3600", "--contexts", "1"]
    return serve(models / "mlp.fathom", *words)


def waiting(server):
    """A connection with a request that waits."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.request("POST", "/v2/models/mlp/infer", json.dumps({"inputs": [ONE]}))
    wait_for(lambda: metric(server, "fathom_queue_length", model="mlp") == 1)
    return connection


TWO = {**ONE, "shape": [2, 16], "data": [1.0] * 32}


def test_a_full_queue_refuses_and_who_goes_makes_room(patient):
    connection = waiting(patient)
    status, headers, told = infer(patient, TWO)
    assert (status, told["code"], headers["Retry-After"]) == (503, "F5002", "1") and "the queue is full" in told["error"]
    connection.close()
    wait_for(lambda: metric(patient, "fathom_queue_length", model="mlp") == 0)
    assert infer(patient, TWO)[0] == 200
    assert metric(patient, "fathom_requests_total", model="mlp", outcome="cancelled") == 1
    assert metric(patient, "fathom_requests_total", model="mlp", outcome="F5002") == 1
    assert metric(patient, "fathom_requests_total", model="mlp", outcome="ok") == 1
    assert metric(patient, "fathom_runs_total", model="mlp") == 1


def test_deadlines(server):
    # One that comes in time is run: at last one is late.
    for _ in range(1000):
        status, _, told = infer(server, parameters={"timeout": 1})
        if status != 200:
            break
    assert (status, told["code"]) == (504, "F5003")


def test_requests_on_their_way_are_answered_at_the_end(serve, models):
    # Half of its time is waited for others to join.
    server = serve(models / "mlp.fathom", "--max-batch", "2", "--max-wait", "3600", "--timeout", "6")
    connection = waiting(server)
    server.process.send_signal(signal.SIGTERM)
    response = connection.getresponse()
    assert response.status == 200 and len(json.loads(response.read())["outputs"]) == 2
    connection.close()
    assert server.end() == 0
    with pytest.raises(ConnectionRefusedError):
        call(server, "GET", "/v2/health/live")


def run(folder, *words):
    return subprocess.run([sys.executable, "-m", "fathom.serve", *map(str, words)], cwd=folder, capture_output=True, text=True)


def test_wrong_words(models, tmp_path, server):
    mlp = models / "mlp.fathom"
    for words, code, message in (
        ([mlp, f"mlp={models / 'fixed.fathom'}"], 2, "[F2001] two models are called 'mlp'"),
        (["nowhere.fathom"], 1, "[F1001] cannot read 'nowhere.fathom'"),
        ([__file__], 1, "[F1002]"),
        ([mlp, "--dim", "x"], 2, "[F2001] option --dim: 'x' is not NAME=SIZE or NAME=MIN..MAX"),
        ([mlp, "--max-batch", "0"], 1, "[F1012] max_batch is 0"),
        ([mlp, "--port", server.port], 5, f"[F5001] cannot listen at 127.0.0.1:{server.port}"),
    ):
        result = run(tmp_path, *words)
        assert result.returncode == code and message in result.stderr and "Traceback" not in result.stderr, result.stderr


def test_onnx_models_are_compiled(serve, tmp_path, monkeypatch):
    import onnx
    from support.networks import perceptron

    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "kept"))
    onnx.save(perceptron(), tmp_path / "net.onnx")
    server = serve("net.onnx", "--dim", "batch=1..3")
    assert infer(server, model="net")[0] == 200
    assert infer(server, {**ONE, "shape": [4, 16], "data": [1.0] * 64}, model="net")[0] == 400
