"""PyTorch in eager mode. onnx2torch makes a module of the model: the layers of torch.nn, as the model's author would have written them."""

import numpy as np
import onnx
import onnx2torch
import torch


def share_constants(graph):
    """Exporters keep equal weights once, with Identity nodes for the others; the converter wants a weight itself."""
    constants = {tensor.name for tensor in graph.initializer}
    copies = {node.output[0]: node.input[0] for node in graph.node if node.op_type == "Identity" and node.input[0] in constants}
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = copies.get(name, name)
    return constants


def load_module(model, threads):
    torch.set_num_threads(threads)
    proto = onnx.load(model)
    constants = share_constants(proto.graph)
    names = [value.name for value in proto.graph.input if value.name not in constants]
    return onnx2torch.convert(proto).eval(), names


def runner(module, names):
    def run(inputs):
        with torch.inference_mode():
            results = module(*(torch.from_numpy(np.ascontiguousarray(inputs[name])) for name in names))
        return [result.numpy() for result in (results if isinstance(results, (tuple, list)) else [results])]

    return run


def load(model, threads, folder):
    return runner(*load_module(model, threads)), torch.__version__
