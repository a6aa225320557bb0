"""Models of Hugging Face's libraries, exported to ONNX: called like Optimum's ORTModel, and decoders that generate."""

from __future__ import annotations

import numpy as np

from .compile import Artifact, compile
from .decoder import Decoder, Sampling
from .model import Model
from .sequences import bad_input
from .session import Session as _Session

__all__ = ["Decoder", "Output", "Sampling", "Session"]


class Output(dict):
    """Results by name, as attributes (`output.logits`), and by position (`output[0]`)."""

    def __getattr__(self, name: str):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the model has no output '{name}': it has {', '.join(self)}") from None

    def __getitem__(self, key):
        return list(self.values())[key] if isinstance(key, (int, slice)) else super().__getitem__(key)

    def to_tuple(self) -> tuple:
        return tuple(self.values())


def is_tensor(value) -> bool:
    """Of PyTorch or another library; NumPy's arrays are what the model has itself."""
    return hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray)


def as_given(array: np.ndarray, likes):
    """A result as the kind that the inputs are of, without a copy."""
    # Of a sequence each; texts, and what is absent, are no tensors.
    if isinstance(array, list):
        return [as_given(each, likes) for each in array]
    if not isinstance(array, np.ndarray) or array.dtype == object or not any(is_tensor(like) for like in likes):
        return array
    import torch

    if array.dtype.name == "bfloat16":  # not NumPy's own, so that it does not hand it on
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_dlpack(array)


class Session:
    """A model that is called with what a tokenizer gives.

    model = fathom.hf.Session("model.onnx")
    logits = model(**tokenizer("some text", return_tensors="pt")).logits

    A mask, positions and token types that the model takes and the caller leaves out are made; what the model does not take is left out.
    """

    def __init__(self, model, *, threads: int = 0, cache: bool = True, **options):
        """`model` is a path, bytes, a ModelProto, or what fathom.compile made; options are those of fathom.compile."""
        if not isinstance(model, (Artifact, Model)):
            model = compile(model, cache=cache, **options)
        self.session = _Session(model, threads=threads)
        self._inputs = {info.name: info for info in self.session.inputs}

    def __call__(self, input_ids=None, **inputs) -> Output:
        if input_ids is not None:
            inputs["input_ids"] = input_ids
        feed = {name: value for name, value in inputs.items() if name in self._inputs and value is not None}
        self._fill(feed)
        names = [info.name for info in self.session.outputs]
        results = self.session.run(names, feed)
        return Output((name, as_given(array, inputs.values())) for name, array in zip(names, results))

    forward = __call__

    def _fill(self, feed: dict) -> None:
        missing = [name for name in self._inputs if name not in feed]
        if missing and "input_ids" not in feed:
            raise bad_input(f"input '{missing[0]}' is missing")
        for name in missing:
            info, shape = self._inputs[name], tuple(feed["input_ids"].shape)
            if name == "attention_mask":
                feed[name] = np.ones(shape, info.dtype)
            elif name == "token_type_ids":
                feed[name] = np.zeros(shape, info.dtype)
            elif name == "position_ids":
                mask = np.asarray(feed.get("attention_mask", np.ones(shape, np.int64)))
                # Padding in front has position 1, as in transformers.
                positions = np.where(mask > 0, mask.cumsum(-1) - 1, 1)
                feed[name] = positions[:, -shape[1] :].astype(info.dtype)
            else:
                raise bad_input(f"input '{name}' is missing")

    @property
    def device(self):
        """torch.device("cpu"), for code that moves its inputs to where the model is."""
        import torch

        return torch.device("cpu")

    def __repr__(self):
        return f"<fathom.hf.Session {self.session!r}>"
