"""The whole way from a model of floats and samples to one with numbers of 8 bits."""

from __future__ import annotations

import os
from typing import Callable

import numpy as np

from ..compile import read_model
from ..errors import Error
from ..reference import import_onnx
from ..subgraphs import name_of
from .correction import mean_errors
from .network import Network, fold_normalisations
from .plan import PRODUCTS, QUANTIZED, Plan, find_products, make_plan
from .ranges import check_method
from .rewrite import Settings, rewrite
from .runs import Runner, observe
from .samples import Samples
from .save import bytes_of, check_output, files_of, save, take_all_in
from .sensitivity import Chosen, error_of, search

# The first operator set whose DequantizeLinear has a scale for each channel.
OLDEST = 13


class Quantized:
    """A quantised model: an onnx.ModelProto, and what was decided and measured as a dictionary."""

    def __init__(self, model, report: dict, folder: str):
        self.model, self.report, self._folder = model, report, folder

    def save(self, path) -> str:
        """Writes the model to a file, which appears when it is whole. Weights of more than 1 GiB lie beside, in PATH.data."""
        path = os.fspath(path)
        check_output(path, files_of(self.model, "", self._folder))
        save(self.model, self._folder, path)
        return path

    def __repr__(self):
        return f"<fathom.Quantized {self.report['quantized']} of {self.report['products']} products>"


def quantize(
    model,
    samples,
    output=None,
    *,
    base_folder=None,
    method: str = "minmax",
    percentile: float = 99.99,
    per_channel: bool = True,
    bias_correction: bool = True,
    max_error: float | None = None,
    keep_float=(),
    memory: int = 512,
    threads: int = 0,
    note: Callable[[str], None] = lambda text: None,
) -> Quantized:
    """Quantises a model to 8 bits: a path, an onnx.ModelProto or its bytes. The result is ONNX, with `output` also as that file.

    `samples` are what ranges are taken from: a path to .npz or .npy files; anything to iterate over that gives dictionaries of
    arrays by the input's name, or arrays where there is one input; or a function that returns such. They are gone through several
    times: of what can be gone through only once, as a generator, all is kept in memory, unless the function is given.
    `method` is minmax, percentile or entropy. With `max_error`, products stay in floating point until the outputs' relative error
    is within it; those whose nodes `keep_float` names always do. `memory`, in MiB, is what values may take that are looked at in
    one run, and `note` is called with what is being done. Raises fathom.Error.
    """
    check_method(method, percentile)
    if max_error is not None and not max_error > 0:
        raise Error(f"max_error is {max_error}: expected a number above 0", "F2001", 2)
    path, data, folder = read_model(model, base_folder)
    if path:
        folder = os.path.dirname(path) or "."
    runner = Runner(None, folder, threads, max(memory, 1) << 20, note)
    note("compiling the model")
    floats = runner.compile(path or data)
    onnx = import_onnx()
    proto = onnx.load(path, load_external_data=False) if path else onnx.load_from_string(data)
    before = bytes_of(proto)
    if output is not None:
        check_output(os.fspath(output), files_of(proto, path, folder))
    _refuse_quantized(proto)
    network = Network(_of_new_operators(onnx, proto, folder), folder, [info.name for info in floats.inputs])
    folded = fold_normalisations(network)
    products, left = find_products(network)
    products = _without(products, left, keep_float)
    if not products:
        whys = "".join(f"; '{name}': {why}" for name, why in list(left.items())[:3])
        raise Error(f"there is nothing to quantise: no {', '.join(PRODUCTS)} with constant weights{whys}", "F3001", 3)
    runner.samples = Samples(samples, floats)
    note("reading the samples")
    runner.samples.check()
    plan, settings, forbidden = _calibrate(network, products, left, runner, method, percentile, per_channel)
    if bias_correction:
        settings.missing = mean_errors(network, plan, settings, runner)
    if max_error is not None:
        chosen = search(network, plan, settings, floats, runner, max_error, forbidden)
    else:
        made = rewrite(network, plan, settings)
        note("compiling the quantised model")
        chosen = Chosen(plan, made, error_of(runner.compile(made), floats, runner, "error"), [])
    take_all_in(chosen.model, folder)
    report = {
        "model": os.path.basename(path) or "model",
        "method": method,
        "samples": runner.samples.count,
        "products": len(products) + len(left),
        "quantized": len(chosen.plan.products),
        "values": len(chosen.plan.values),
        "folded_normalisations": folded,
        "bytes": [before, bytes_of(chosen.model)],
        "left": [{"node": name, "why": why} for name, why in left.items()],
        "decisions": [
            {"node": decision.product.name, "op": decision.product.op, "sensitivity": decision.sensitivity, "error": decision.left}
            for decision in chosen.decisions
        ],
        "max_error": max_error,
        "errors": chosen.error.values(),
    }
    result = Quantized(chosen.model, report, folder)
    if output is not None:
        note("writing the model")
        save(chosen.model, folder, os.fspath(output))
    return result


def _calibrate(network: Network, products, left: dict, runner: Runner, method: str, percentile: float, per_channel: bool):
    """The plan with the ranges of its values, and the values that have none."""
    plan = make_plan(network, products)
    observed = observe(network, list(plan.values), runner, counts=method != "minmax")
    forbidden = frozenset(name for name, found in observed.items() if not found.is_finite)
    if forbidden:
        plan = make_plan(network, products, forbidden)
        kept = {product.name for product in plan.products}
        left.update((product.name, "what it reads is not finite") for product in products if product.name not in kept)
        products[:] = plan.products
        if not products:
            raise Error("there is nothing to quantise: what all products read is not finite", "F3001", 3)
    ranges = {name: observed[name].range(method, percentile) for name in plan.values}
    return plan, Settings(network, plan, ranges, per_channel), forbidden


def _without(products: list, left: dict, keep_float) -> list:
    names = {product.name for product in products}
    for name in keep_float:
        if name not in names and name not in left:
            raise Error(f"no {', '.join(PRODUCTS)} is called '{name}'", "F2001", 2, hint=f"there are {', '.join(sorted(names)[:8])}")
    left.update((name, "it was asked for") for name in keep_float if name in names)
    return [product for product in products if product.name not in keep_float]


def _refuse_quantized(proto):
    for node in proto.graph.node:
        if node.op_type.startswith(QUANTIZED):
            hint = "quantise the model of floats that it was made from"
            raise Error(f"the model is quantised already, as it has a {node.op_type}", "F3001", 3, name_of(node), hint)


def _of_new_operators(onnx, proto, folder: str):
    """The model in an operator set that can say what is to be said."""
    for entry in proto.opset_import:
        if entry.domain in ("", "ai.onnx") and entry.version < OLDEST:
            take_all_in(proto, folder)
            try:
                return onnx.version_converter.convert_version(proto, OLDEST)
            except Exception as error:
                message = f"operator set {entry.version} has no scales for single channels, and it cannot be made newer: {error}"
                raise Error(message, "F3001", 3, hint=f"export the model with operator set {OLDEST} or newer") from error
    return proto
