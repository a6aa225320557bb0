"""The models to measure: where their files are, how large their weights are, and whether two runs of one agree."""

import hashlib
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("FATHOM_BUILD", ROOT / "build"))
sys.path.insert(0, str(BUILD / "python"))

import numpy as np  # noqa: E402
import onnx  # noqa: E402

# One of each kind, so that a run without arguments takes a minute or two.
FEW = "resnet50 mobilenet_v2 wrn_40_2_g8 bert_base_128".split()
ALL = """resnet18 resnet34 resnet50 vgg16 alexnet googlenet densenet161 mobilenet_v2 mnasnet1_0 efficientnet_b0 efficientnet_b4
wrn_40_2_s wrn_40_2_g2 wrn_40_2_g4 wrn_40_2_g8 wrn_40_2_g16 wrn_40_2_gn bert_base_128 bert_base_256 mobilebert_128 mobilebert_256 vit_b_16
lstm_2x512 gru_2x512 ssd300_vgg16 ssdlite320_mobilenet_v3_large""".split()

RTOL, ATOL = 1e-3, 1e-4


def is_model(name):
    return (pathlib.Path(name) if name.endswith(".onnx") else ROOT / "models" / f"{name}.onnx").exists()


def model_file(name):
    """The model's file; models of the zoo have no weights of their own and get seeded ones."""
    if name.endswith(".onnx"):
        return pathlib.Path(name).resolve()
    path = BUILD / "models" / f"{name}.onnx"
    if not path.exists():
        subprocess.run([sys.executable, ROOT / "models/fill_weights.py", BUILD / "models", name], check=True, stdout=subprocess.DEVNULL)
    return path


def weight_bytes(path):
    """What the model's constants need in memory, without reading them."""
    graph = onnx.load(path, load_external_data=False).graph
    return sum(
        int(np.prod(tensor.dims, dtype=np.int64)) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
        for tensor in graph.initializer
    )


def digest(results):
    """Of results, to the last bit: the same code gives the same ones wherever it runs, with any number of threads."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(result).tobytes() for result in results)).hexdigest()


def results_agree(results, expected):
    """A time means nothing if the results are wrong.

    Of detections, which have boxes, scores in falling order and labels, only the scores are compared: where two of them differ by less than
    rounding, which comes first is open.
    """
    results, expected = list(map(np.asarray, results)), list(map(np.asarray, expected))
    if [a.shape for a in results] != [b.shape for b in expected]:
        return False
    labels, scores = ({b.shape for b in expected if b.ndim == 1 and b.dtype.kind == kind} for kind in "if")
    are_detections = labels & scores
    return all(
        np.allclose(a, b, rtol=RTOL, atol=ATOL * np.abs(b).max(initial=0))
        for a, b in zip(results, expected)
        if b.dtype.kind == "f" and (b.ndim == 1 or not are_detections)
    )
