"""The examples of the page on PyTorch run as they are written."""

import torch
from support.pages import Reader


def test_page(tmp_path, monkeypatch):
    names = Reader(tmp_path, monkeypatch).follow("torch.md", stage="torch")
    assert names["y"].shape == (5, 8) and isinstance(names["y"], torch.Tensor)
