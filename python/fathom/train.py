"""Training: the weights of a model and what an optimizer remembers, changed by one compiled step after the other."""

from __future__ import annotations

import os

import numpy as np

from .compile import compile
from .errors import Error
from .reference import import_onnx
from .session import Session


class Trainer:
    """A model in training::

        trainer = fathom.Trainer("model.onnx", loss="cross-entropy:logits:labels", train="adam:lr=1e-3")
        for images, labels in batches:
            loss = trainer.step({"images": images, "labels": labels})
        trainer.save("trained.onnx")

    A step changes the weights; they are written into a copy of the model when it is saved.
    """

    def __init__(self, model, *, loss: str, train: str, wrt: str = "weights", weights: dict | None = None, threads: int = 0, **options):
        """`loss`, `train`, `wrt` and further options are those of fathom.compile.

        `weights` gives values to begin with in place of the model's.
        """
        artifact = compile(model, loss=loss, train=train, wrt=wrt, **options)
        self.session = Session(artifact, threads=threads)
        self._model = _load(model)
        results = [info.name for info in self.session.outputs]
        self._loss, self._kept = results[0], results[1:]
        initial = {tensor.name: tensor for tensor in self._model.graph.initializer}
        numpy_helper = import_onnx().numpy_helper
        # By name, what goes into the next step: the weights, and what the optimizer remembers, which begins with zeros.
        self.state = {}
        for info in self.session.inputs:
            if info.name not in self._kept:
                continue
            if info.name in initial:
                value = numpy_helper.to_array(initial[info.name])
            else:
                value = np.zeros(info.shape, info.dtype)
            self.state[info.name] = np.array(value, info.dtype, order="C")
        for name, value in (weights or {}).items():
            if name not in self.state:
                raise Error(f"'{name}' is not trained", "F1012", 1, hint=f"what is trained is {', '.join(self.weights)}")
            self.state[name] = np.array(value, self.state[name].dtype, order="C")

    @property
    def weights(self) -> dict:
        """What is trained, by name."""
        names = {tensor.name for tensor in self._model.graph.initializer}
        return {name: value for name, value in self.state.items() if name in names}

    def step(self, inputs: dict) -> float:
        """Changes the weights once, by the inputs of a batch; returns the loss as it was before."""
        loss, *results = self.session.run(None, {**self.state, **inputs})
        self.state = dict(zip(self._kept, results))
        return float(loss.reshape(()))

    def save(self, path) -> str:
        """Writes the model with its weights as they are now."""
        onnx = import_onnx()
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        weights = self.weights
        for tensor in model.graph.initializer:
            if tensor.name in weights:
                tensor.CopyFrom(onnx.numpy_helper.from_array(weights[tensor.name], tensor.name))
        onnx.save(model, os.fspath(path))
        return os.fspath(path)


def _load(model):
    onnx = import_onnx()
    if isinstance(model, (str, os.PathLike)):
        return onnx.load(os.fspath(model))
    if hasattr(model, "SerializeToString"):
        return model
    return onnx.load_from_string(bytes(model))
