"""Where PyTorch is: tests of this folder run in an environment of their own (./dev test torch)."""

import importlib.util
import os

if importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
os.environ.setdefault("HF_HUB_OFFLINE", "1")
