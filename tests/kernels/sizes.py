"""Models whose sizes data decides: one compilation, many inputs of other sizes."""
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import fathom

FLOAT, INT64, INT32, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL
PRIMES = [1, 2, 3, 5, 7, 13, 17, 31]


def floats(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def prime(random, least=1):
    """A size: one, or a prime."""
    return int(random.choice([size for size in PRIMES if size >= least]))


def infos(values):
    return [helper.make_tensor_value_info(*value) for value in values]


def model(nodes, inputs, outputs, constants=None, opset=17):
    """Inputs are (name, type, shape), outputs (name, type), constants arrays by name."""
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos((*output, None) for output in outputs), initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def graph(nodes, inputs, outputs, name="body"):
    """A branch or the body of a loop."""
    return helper.make_graph(nodes, name, infos(inputs), infos((*output, None) for output in outputs))


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split() if isinstance(inputs, str) else inputs, outputs.split(), **attributes)


def agree(proto, feeds, **options):
    """Compiles once and compares every run with ONNX Runtime; the same bits with one thread and two. Two of the runs
    must differ, or the comparison would say little."""
    reference = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    artifact = fathom.compile(proto, **options)
    one, two = fathom.Session(artifact, threads=1), fathom.Session(artifact, threads=2)
    seen = set()
    for feed in feeds:
        expected, got, other = reference.run(None, feed), one.run(None, feed), two.run(None, feed)
        for want, x, y in zip(expected, got, other, strict=True):
            assert x.shape == want.shape and x.dtype == want.dtype
            assert x.tobytes() == y.tobytes(), "results depend on the thread count"
            scale = max(1.0, float(np.abs(want).max())) if want.size and want.dtype.kind == "f" else 0
            np.testing.assert_allclose(x, want, rtol=1e-5, atol=1e-5 * scale)
        seen.add(b"".join(x.tobytes() + repr(x.shape).encode() for x in got))
    assert len(seen) > 1
