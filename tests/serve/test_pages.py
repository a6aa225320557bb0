"""What the page on serving says of HTTP, as it is written there, but for the port."""

import json
import shlex
import subprocess

import fathom
import numpy as np
import onnx
from support.models import make_model, node, value
from support.pages import blocks_of


def doubling():
    """y = x + x for rows of 3."""
    return make_model([node("Add", "x x", "y", name="twice")], [value("x", ["batch", 3])], [value("y", ["batch", 3])])


def test_page(serve, tmp_path):
    onnx.save(doubling(), tmp_path / "other.onnx")
    fathom.compile(doubling(), str(tmp_path / "model.fathom"))
    start, client, curl = (block.text for block in blocks_of("serving.md", "serve"))
    words = shlex.split(start)
    assert words[:3] == ["python", "-m", "fathom.serve"] and words[-2] == "--port"
    server = serve(*words[3:-2])
    assert "serving model, second at" in server.line
    names = {}
    exec(client.replace("127.0.0.1:8000", server.url), names)
    np.testing.assert_array_equal(names["y"], [[2, 2, 2]])
    told = json.loads(subprocess.run(shlex.split(curl.replace("127.0.0.1:8000", server.url)), check=True, capture_output=True, text=True).stdout)
    assert told["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [1, 3], "data": [2, 4, 6]}]
