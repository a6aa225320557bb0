"""Runs of a network on all samples: compiled by Fathom itself, with the values that one wants as outputs."""

from __future__ import annotations

from typing import Callable

import numpy as np

from ..compile import compile as compile_model
from ..errors import Error
from ..session import Session
from .network import Network, prune
from .ranges import Observed


class Runner:
    """Compiles models of one folder and runs them on the samples, telling how far it is."""

    def __init__(self, samples, folder: str, threads: int, memory: int, note: Callable):
        self.samples, self.folder, self.threads, self.memory, self.note = samples, folder, threads, memory, note

    def compile(self, model) -> Session:
        # Neither what was tuned here nor what comes with fathom may change a result.
        data = model if isinstance(model, (bytes, str)) else model.SerializeToString()
        return Session(compile_model(data, base_folder=None if isinstance(model, str) else self.folder or None, db="none"), threads=self.threads)

    def run(self, session: Session | None, what: str, more: dict | None = None, most: int | None = None):
        """Each sample with the session's outputs for it; `most` samples, or all."""
        wanted = {info.name for info in session.inputs} if session else set()
        for number, (name, sample) in enumerate(self.samples, 1):
            if most is not None and number > most:
                return
            self.note(f"{what}: sample {number} of {min(most or self.samples.count, self.samples.count)}")
            inputs = {key: value for key, value in {**sample, **(more or {})}.items() if key in wanted}
            try:
                results = session.run(None, inputs) if session else []
            except Error as error:
                raise Error(f"{name}: {error.message}", error.code, error.exit_code, error.node, error.hint) from error
            yield sample, results


def with_outputs(network: Network, values: list[str]):
    """The model with these floats as its only outputs."""
    helper = network.onnx.helper
    model = network.onnx.ModelProto()
    model.CopyFrom(network.proto)
    del model.graph.output[:]
    model.graph.output.extend(helper.make_tensor_value_info(name, network.onnx.TensorProto.FLOAT, None) for name in values)
    prune(model)
    return model


def observe(network: Network, values: list[str], runner: Runner, counts: bool) -> dict[str, Observed]:
    """The ends of the values over all samples, and with `counts` what lies between."""
    observed = {name: Observed() for name in values}
    computed = [name for name in values if name in network.producers]
    given = [name for name in values if name not in network.producers]
    for part, session in _sessions(network, computed, runner):
        steps = [("ranges", Observed.see)] + [("histograms", Observed.count)] * counts
        for what, step in steps:
            for sample, results in runner.run(session, f"{what} of {len(part) or len(given)} values"):
                for name, array in zip(part, results):
                    step(observed[name], array)
                # The first part has the model's own inputs as well.
                for name in given:
                    step(observed[name], np.asarray(sample[name]))
        given = []
    return observed


def _sessions(network: Network, values: list[str], runner: Runner):
    """Parts of the values with a session for each: as many at a time as fit into memory, by the sizes of the first sample."""
    if not values:
        yield values, None
        return
    runner.note(f"compiling the model with {len(values)} values as outputs")
    session = runner.compile(with_outputs(network, values))
    _, sample = next(iter(runner.samples))
    shapes = session.output_shapes([np.shape(sample[info.name]) for info in session.inputs])
    # A size that data decides is not known.
    sizes = [4 * int(np.prod([max(size, 1) for size in shape], dtype=np.int64)) for shape in shapes]
    if sum(sizes) <= runner.memory:
        yield values, session
        return
    del session
    part, taken = [], 0
    for name, size in [*zip(values, sizes), ("", runner.memory)]:
        if part and taken + size > runner.memory:
            runner.note(f"compiling the model with {len(part)} values as outputs")
            yield part, runner.compile(with_outputs(network, part))
            part, taken = [], 0
        part.append(name)
        taken += size
