"""The examples of the page on PyTorch run as they are written."""

import re

import torch
from support.tool import ROOT


def test_examples():
    page = (ROOT / "docs/user/torch.md").read_text()
    names: dict = {}
    exec("\n".join(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)), names)
    assert names["y"].shape == (5, 8) and isinstance(names["y"], torch.Tensor)
