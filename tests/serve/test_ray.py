"""The endpoint as a deployment of Ray Serve: the example, on a cluster of its own, asked by a client that others wrote."""
import json
import socket
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import fathom
import numpy as np
import pytest
import tritonclient.http as triton
from support.compare import assert_close
from support.tool import ROOT


@pytest.fixture(scope="module")
def cluster(models, tmp_path_factory):
    # Ray takes no port that is free by chance.
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    from conftest import starting

    for start in starting(tmp_path_factory.mktemp("ray")):
        words = [models / "mlp.fathom", f"other={models / 'fixed.fathom'}", "--replicas", "2", "--max-batch", "8"]
        yield start(*words, program=(ROOT / "examples/ray_serve.py", "--port", port))


def test_answers(cluster, models, random):
    client = triton.InferenceServerClient(cluster.url)
    assert client.is_server_live() and client.is_model_ready("mlp") and not client.is_model_ready("none")
    assert client.get_server_metadata()["version"] == fathom.__version__
    assert client.get_model_metadata("other")["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [2, 16]}]
    client.close()
    session, feeds = fathom.Session(str(models / "mlp.fathom")), [random.standard_normal((1 + i % 3, 16), np.float32) for i in range(40)]

    def ask(pair):
        i, x = pair
        given = triton.InferInput("x", x.shape, "FP32")
        given.set_data_from_numpy(x, binary_data=bool(i % 2))
        # Clients are of one thread each.
        with triton.InferenceServerClient(cluster.url) as client:
            return client.infer("mlp", [given], outputs=[triton.InferRequestedOutput("y", binary_data=bool(i % 2))]).as_numpy("y")

    # Several at a time, for both replicas.
    with ThreadPoolExecutor(8) as pool:
        for x, got in zip(feeds, pool.map(ask, enumerate(feeds)), strict=True):
            assert_close(got, session.run(["y"], {"x": x})[0], "chain")


@pytest.mark.parametrize("path, status, words", [
    ("nothing/infer", 404, "there is no model 'nothing'"),
    ("mlp/infer", 400, "[F1012]"),
])
def test_refusals(cluster, path, status, words):
    request = urllib.request.Request(f"http://{cluster.url}/v2/models/{path}", json.dumps({"inputs": []}).encode())
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    assert caught.value.code == status and words in json.loads(caught.value.read())["error"]
