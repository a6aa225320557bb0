"""The same networks in PyTorch, on the GPU with random weights, as somebody who wants them fast would run them: channels-last, cuDNN's own
search, the whole run as one CUDA graph, which PyTorch itself records or Inductor's code does."""

import torch

# What PyTorch computes in for a precision of ours.
TYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def module_of(name):
    """The network and its inputs; None where PyTorch's packages have none of this name."""
    if name.startswith("bert_base_"):
        from transformers import BertConfig, BertModel

        module = BertModel(BertConfig(attn_implementation="sdpa"))
        tokens = int(name.rsplit("_", 1)[1])
        return module, [torch.randint(0, 1000, (1, tokens))]
    from torchvision import models

    if not hasattr(models, name):
        return None
    more = {"init_weights": False, "aux_logits": False} if name == "googlenet" else {}
    return getattr(models, name)(weights=None, **more), [torch.randn(1, 3, 224, 224)]


def on_gpu(arrays):
    """NumPy's arrays as tensors on the GPU."""
    tensors = [torch.from_numpy(array.copy()).cuda() for array in arrays]
    torch.cuda.synchronize()
    return tensors


class Graphed:
    """A run from the host's memory to the host's memory, the network in between replayed as a CUDA graph."""

    def __init__(self, name, precision):
        module = self.prepare(name, precision)
        with torch.inference_mode():
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(5):
                    module(*self.inputs)
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                result = module(*self.inputs)
        self.result = result if torch.is_tensor(result) else result[0]

    def prepare(self, name, precision):
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
        module, inputs = module_of(name)
        kind = TYPES.get(precision, torch.float32)
        module = module.eval().cuda().to(memory_format=torch.channels_last, dtype=kind)
        inputs = [value.to(kind) if value.is_floating_point() else value for value in inputs]
        inputs = [value.contiguous(memory_format=torch.channels_last) if value.dim() == 4 else value for value in inputs]
        self.host = [value.pin_memory() for value in inputs]
        self.inputs = [value.cuda() for value in inputs]
        return module

    def run(self):
        for host, value in zip(self.host, self.inputs):
            value.copy_(host, non_blocking=True)
        self.graph.replay()
        return self.result.cpu()

    def run_resident(self):
        """From the GPU's memory to the GPU's memory."""
        self.graph.replay()
        torch.cuda.synchronize()

    def replay_ms(self, runs=50):
        """Milliseconds of the network alone, on the GPU's clock."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.graph.replay()
        start.record()
        for _ in range(runs):
            self.graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / runs


class Compiled(Graphed):
    """The same by torch.compile, which records its own graphs."""

    def __init__(self, name, precision):
        module = self.prepare(name, precision)
        self.function = torch.compile(module, mode="reduce-overhead")
        self.graph = self
        for _ in range(4):
            self.replay()
        torch.cuda.synchronize()

    def replay(self):
        with torch.inference_mode():
            result = self.function(*self.inputs)
        self.result = result if torch.is_tensor(result) else result[0]
