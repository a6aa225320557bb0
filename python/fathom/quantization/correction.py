"""Quantised products beside those of floats: what they are wrong by on average, and what that does to the outputs."""

from __future__ import annotations

import numpy as np

from .network import Network
from .plan import Plan, Product
from .rewrite import Settings, Writer, copy_of, replace_nodes, scratch
from .runs import Runner


def mean_errors(network: Network, plan: Plan, settings: Settings, runner: Runner) -> dict[str, np.ndarray]:
    """What each product's results lack on average, by channel: each computed from what floats give, so that none counts twice.

    Means are over the samples, each of which counts the same.
    """
    products = [product for product in plan.products if product.op != "MatMul" or product.shift is not None]
    if not products:
        return {}
    writer = Writer(scratch(network), settings)
    by_result = {product.result: product for product in products}
    outputs = []
    for node in network.proto.graph.node:
        writer.nodes.append(copy_of(node))
        if node.output and node.output[0] in by_result:
            outputs.append(_difference(writer, by_result[node.output[0]]))
    infos = [writer.helper.make_tensor_value_info(name, network.onnx.TensorProto.FLOAT, None) for name in outputs]
    del writer.network.proto.graph.output[:]
    writer.network.proto.graph.output.extend(infos)
    runner.note("compiling the model with its quantised products beside")
    session = runner.compile(replace_nodes(writer.network, writer.nodes))
    sums = [np.zeros(product.channels(network)) for product in products]
    for _, results in runner.run(session, "mean errors"):
        for total, result in zip(sums, results):
            total += result.reshape(-1)
    means = {product.result: total / runner.samples.count for product, total in zip(products, sums)}
    return {name: mean for name, mean in means.items() if np.isfinite(mean).all()}


def _beside(writer: Writer, product: Product) -> str:
    """The quantised form of a product, which nothing reads yet."""
    result = writer.network.fresh(f"{product.result}.quantised")
    writer.product(product, writer.quantized(product.data, product.data), result)
    return result


def _difference(writer: Writer, product: Product) -> str:
    lacks = writer.add("Sub", [product.result, _beside(writer, product)], f"{product.result}.lacks")
    # A row for each pixel of channels: of a product's columns whatever the rank is.
    if product.op == "Conv":
        rank = writer.network.constant(product.weight).ndim
        lacks = writer.add("Transpose", [lacks], f"{product.result}.last", perm=[0, *range(2, rank), 1])
    columns = writer.number(f"{product.result}.columns", np.array([-1, product.channels(writer.network)], np.int64))
    rows = writer.add("Reshape", [lacks, columns], f"{product.result}.rows")
    opset = next(entry.version for entry in writer.network.proto.opset_import if entry.domain in ("", "ai.onnx"))
    if opset < 18:
        return writer.add("ReduceMean", [rows], f"{product.result}.mean", axes=[0])
    axes = writer.number(f"{product.result}.axes", np.array([0], np.int64))
    return writer.add("ReduceMean", [rows, axes], f"{product.result}.mean")


def switched(network: Network, plan: Plan, settings: Settings):
    """A model in which each product is of floats or quantised as an input says, by the product's name of that input."""
    writer = Writer(scratch(network), settings)
    by_result = {product.result: product for product in plan.products}
    switches = {}
    for node in network.proto.graph.node:
        product = by_result.get(node.output[0]) if node.output else None
        copied = copy_of(node)
        writer.nodes.append(copied)
        if product is None:
            continue
        switch = switches[product.result] = writer.network.fresh(f"{product.result}.switch")
        writer.network.proto.graph.input.append(
            writer.helper.make_tensor_value_info(switch, network.onnx.TensorProto.BOOL, [])
        )
        copied.output[0] = writer.network.fresh(f"{product.result}.floats")
        beside = _beside(writer, product)
        writer.nodes.append(writer.helper.make_node("Where", [switch, beside, copied.output[0]], [product.result]))
    return replace_nodes(writer.network, writer.nodes), switches
