"""PyTorch with torch.compile (Inductor), weights frozen, so that they may be packed ahead."""

import os

import torch
import torch._inductor.config
from with_torch import load_module, runner


def load(model, threads, folder):
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder / "inductor"))
    module, names = load_module(model, threads)
    torch._inductor.config.freezing = True
    return runner(torch.compile(module, dynamic=False), names), torch.__version__
