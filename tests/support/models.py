"""One builder of small models, and random numbers to put into them."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

FLOAT, DOUBLE, FLOAT16, INT64, INT32, BOOL = (
    TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)
PRIMES = [1, 2, 3, 5, 7, 13, 17, 31]


def floats(random, *shape):
    return random.standard_normal(shape).astype(np.float32)


def prime(random, least=1):
    """A size: one, or a prime."""
    return int(random.choice([size for size in PRIMES if size >= least]))


def node(op, inputs, outputs, **attributes):
    """Names of operands and results are lists, or words of a text."""
    inputs, outputs = (names.split() if isinstance(names, str) else names for names in (inputs, outputs))
    return helper.make_node(op, inputs, outputs, **attributes)


def value(name, shape=None, dtype=FLOAT):
    """An input or output; sizes are numbers or names, and without a shape nothing is said of it."""
    return helper.make_tensor_value_info(name, dtype, shape)


def sequence(name, dtype=FLOAT, shape=None):
    return helper.make_tensor_sequence_value_info(name, dtype, shape)


def optional(name, content):
    return helper.make_value_info(name, helper.make_optional_type_proto(content.type))


def info(declared):
    """Of an input or output that is declared as (name, type[, shape]), or by itself."""
    if not isinstance(declared, tuple):
        return declared
    name, dtype, shape = (*declared, None)[:3]
    return helper.make_tensor_value_info(name, dtype, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def graph(nodes, inputs, outputs, name="body", constants=None):
    """A branch, the body of a loop, or a whole model's graph. Constants are arrays by name, or tensors."""
    tensors = [constant(*item) for item in constants.items()] if isinstance(constants, dict) else list(constants or ())
    return helper.make_graph(nodes, name, [info(declared) for declared in inputs], [info(declared) for declared in outputs], tensors)


def model(nodes, inputs, outputs, constants=None, opset=17, domains=None, ir_version=None):
    """Inputs and outputs are (name, type[, shape]) or what value() makes; domains are versions of other operator sets by name."""
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(*item) for item in (domains or {}).items())]
    whole = graph(nodes, inputs, outputs, "test", constants)
    return helper.make_model(whole, opset_imports=opsets, ir_version=ir_version or (8 if opset <= 17 else 10))


def model_of(nodes, inputs, weights, outputs=("y",), **options):
    """A model that takes arrays like these; inputs and weights are arrays by name, and outputs, floats of unknown shape, names."""
    declared = [(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in inputs.items()]
    return model(nodes, declared, [(name, FLOAT) for name in outputs], weights, **options)


def make_model(nodes, inputs, outputs, initializers=(), opset=21):
    """Of the operator set that exporters write today."""
    return model(nodes, inputs, outputs, initializers, opset, ir_version=10)
