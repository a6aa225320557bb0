"""What the page on serving says of HTTP, as it is written there, but for the port."""

import json
import re
import shlex
import subprocess

import fathom
import numpy as np
import onnx
from support.models import make_model, node, value
from support.tool import ROOT

PAGE = (ROOT / "docs/user/serving.md").read_text()


def block(start):
    """The block of code that has this."""
    [found] = [text for text in re.findall(r"^```\w*\n(.*?)^```", PAGE, re.M | re.S) if start in text]
    return found


def doubling():
    """y = x + x for rows of 3."""
    return make_model([node("Add", "x x", "y", name="twice")], [value("x", ["batch", 3])], [value("y", ["batch", 3])])


def test_examples(serve, tmp_path):
    onnx.save(doubling(), tmp_path / "other.onnx")
    fathom.compile(doubling(), str(tmp_path / "model.fathom"))
    words = shlex.split(block("-m fathom.serve"))
    assert words[:3] == ["python", "-m", "fathom.serve"] and words[-2] == "--port"
    server = serve(*words[3:-2])
    assert "serving model, second at" in server.line
    names = {}
    exec(block("import tritonclient").replace("127.0.0.1:8000", server.url), names)
    np.testing.assert_array_equal(names["y"], [[2, 2, 2]])
    curl = shlex.split(block("curl").replace("127.0.0.1:8000", server.url))
    told = json.loads(subprocess.run(curl, check=True, capture_output=True, text=True).stdout)
    assert told["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [1, 3], "data": [2, 4, 6]}]
