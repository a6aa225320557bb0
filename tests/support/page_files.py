"""The files of their own that readers of a page have: small models that stand for theirs, inputs for them, and what they compiled before."""
import pathlib
import re
import sys

import fathom
import numpy as np
import onnx

from support.models import FLOAT, INT64, floats, make_model, model, node, value
from support.networks import perceptron
from support.sparse import sparse
from support.tool import ROOT

sys.path.append(str(ROOT / "models"))
from make_decoder import make_decoder  # noqa: E402


def network():
    """What most pages speak of: `x`, rows of 16, to `y`."""
    proto = perceptron()
    del proto.graph.output[1]
    return proto


def images(source="x", result="y"):
    weight = floats(np.random.default_rng(0), 4, 3, 3, 3)
    nodes = [node("Conv", [source, "w"], "c", name="conv"), node("GlobalAveragePool", "c", [result], name="pool")]
    return model(nodes, [(source, FLOAT, [1, 3, 224, 224])], [(result, FLOAT)], {"w": weight})


def classifier():
    weight = floats(np.random.default_rng(0), 16, 4)
    return model([node("MatMul", "images w", "logits")], [("images", FLOAT, [8, 16])], [("logits", FLOAT)], {"w": weight})


def product(columns):
    """One kernel, of which all candidates are measured within a second."""
    weight = floats(np.random.default_rng(0), 8, columns)
    return make_model([node("MatMul", "x w", "y", name="product")], [value("x", [1, 8])], [value("y", [1, columns])], {"w": weight})


def encoder():
    table = np.ones((100, 4), np.float32)
    return model([node("Gather", "table input_ids", "logits")], [("input_ids", INT64, ["n", "m"])], [("logits", FLOAT)], {"table": table})


# By page, beside `model.onnx`, which most have; what else is a network of the zoo has zeros as weights.
MODELS = {
    "devices.md": {"resnet18.onnx": images},
    "huggingface.md": {"encoder.onnx": encoder, "decoder.onnx": lambda: make_decoder(0)},
    "python.md": {"model.onnx": lambda: images("input")},
    "training.md": {"model.onnx": classifier},
    "tuning.md": {
        "model.onnx": lambda: product(4),
        "resnet50.onnx": lambda: product(8),
        "resnet18.onnx": lambda: product(5),
        "bert_base_128.onnx": lambda: product(12),
    },
}
# Pages that begin with a compiled model.
COMPILED = ["install.md", "serving.md"]


def provide(page, text):
    """Makes those that the text names, in this folder."""
    models = {"model.onnx": network, **MODELS.get(page, {})}
    for name in sorted(set(re.findall(r"\w+\.onnx\b", text))):
        if name in models:
            onnx.save(models[name](), name)
        elif (ROOT / "models" / name).exists():
            sparse(name.removesuffix(".onnx"), pathlib.Path())
    if "samples.npz" in text:
        np.savez("samples.npz", x=floats(np.random.default_rng(0), 10, 2, 16))
    if "@x.npy" in text:
        np.save("x.npy", np.ones((2, 16), np.float32))
    if page in COMPILED:
        fathom.compile(network(), "model.fathom")
