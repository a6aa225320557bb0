"""ONNX's interface for backends (onnx.backend.base): prepare, run_model, run_node, supports_device, is_compatible."""

from __future__ import annotations

import numpy as np

from .compile import check, compile
from .errors import Error
from .reference import import_onnx
from .sequences import bad_input
from .session import Session

onnx = import_onnx()
from onnx.backend import base  # noqa: E402  (behind the look whether it is there)


class FathomRep(base.BackendRep):
    """A compiled model, to be run any number of times."""

    def __init__(self, session: Session):
        self.session = session
        self._names = [info.name for info in session.outputs]

    def run(self, inputs, **kwargs):
        """`inputs` in the model's order, or by name; the results in the model's order, which their names lead to as well."""
        given = self.session.inputs
        if isinstance(inputs, np.ndarray):
            inputs = [inputs]
        if not hasattr(inputs, "items"):
            if len(inputs) > len(given):
                raise bad_input(f"got {len(inputs)} inputs, the model has {len(given)}")
            inputs = {info.name: value for info, value in zip(given, inputs)}
        feed = {name: _plain(value) for name, value in inputs.items()}
        return base.namedtupledict("Outputs", self._names)(*self.session.run(None, feed))


def _plain(value):
    """Some callers have ONNX's tensors in place of arrays, or NumPy's scalars."""
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if value is None else np.asarray(value)


class FathomBackend(base.Backend):
    @classmethod
    def is_compatible(cls, model, device: str = "CPU", **kwargs) -> bool:
        return cls.supports_device(device) and not check(model)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.split(":")[0] == "CPU"

    @classmethod
    def prepare(cls, model, device: str = "CPU", *, threads: int = 0, **kwargs) -> FathomRep:
        """`threads` of a run; other keywords are those of fathom.compile."""
        if not cls.supports_device(device):
            raise Error(f"the device is '{device}'", "F1012", 1, hint="models for other devices are made by fathom.compile")
        return FathomRep(Session(compile(model, **kwargs), threads=threads))

    @classmethod
    def run_node(cls, node, inputs, device: str = "CPU", outputs_info=None, *, opset_version: int | None = None, **kwargs):
        """Runs one operator on arrays; `outputs_info` has the type and shape of each output, where the caller knows them."""
        arrays = [None if value is None else np.asarray(_plain(value)) for value in inputs]
        names = [name for name in node.input if name]
        if len(names) != len([array for array in arrays if array is not None]):
            raise bad_input(f"got {len(arrays)} inputs, the node has {len(names)}")
        feed = dict(zip(names, [array for array in arrays if array is not None]))
        helper = onnx.helper
        declared = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feed.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        if outputs_info is not None:
            for output, (dtype, shape) in zip(outputs, outputs_info):
                output.CopyFrom(helper.make_tensor_value_info(output.name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        opset = helper.make_opsetid(node.domain, opset_version or onnx.defs.get_schema(node.op_type, node.domain).since_version)
        model = helper.make_model(helper.make_graph([node], "node", declared, outputs), opset_imports=[opset])
        return cls.prepare(model, device, **kwargs).run(feed)


is_compatible = FathomBackend.is_compatible
prepare = FathomBackend.prepare
run_model = FathomBackend.run_model
run_node = FathomBackend.run_node
supports_device = FathomBackend.supports_device
