"""The gallery of networks shows what the records have, and nothing else."""

import json
import sys
import xml.etree.ElementTree

import onnx
from support.tool import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import gallery  # noqa: E402
import history  # noqa: E402


def test_the_page_is_what_its_script_prints():
    for path, text in gallery.made(history.FOLDER).items():
        assert path.read_text() == text, "./dev bench gallery --write"
    assert {*gallery.PICTURES.glob("*")} <= {*gallery.made(history.FOLDER)}


def test_records_become_rows_and_dots(tmp_path):
    def record(ratio):
        ratios = {"1": {"resnet18": [ratio, 0.01], "other<people>": [0.5, 0.01]}, "2": {"resnet18": [1.25, 0.01]}}
        times = {"1": {"resnet18": 12.34, "other<people>": 3.0}, "2": {"resnet18": 7.0}}
        return {"commit": "0123", "date": "2026-01-02T03:04", "cpu": "k1", "num_cpus": 2, "clock": "wall", "onnxruntime": "1.0", "ratios": ratios, "milliseconds": times}

    (tmp_path / "k1.jsonl").write_text("".join(json.dumps(record(ratio)) + "\n" for ratio in (9.0, 2.0)))
    files = gallery.made(tmp_path)
    page, drawing = files[gallery.PAGE], files[gallery.PICTURES / "k1.svg"]
    nodes = len(onnx.load(ROOT / "models/resnet18.onnx", load_external_data=False).graph.node)
    assert f"| resnet18 | {nodes} | 46.7 | 1 x 3 x 224 x 224 | 2.00 | 1.25 | 12.3 | 7 |" in page and "| other<people> |  | |  | 0.50 |  | 3 |  |" in page
    assert "Geometric mean 1.00 with 1 thread, 1.25 with 2 threads." in page and "(gallery/k1.svg)" in page
    root = xml.etree.ElementTree.fromstring(drawing)
    titles = [title.text for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert "resnet18, 1 thread: 2 times as fast as ONNX Runtime" in titles and len(titles) == 3
