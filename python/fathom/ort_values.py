"""ONNX Runtime's OrtValue and IOBinding, over arrays: what is bound is read and written where it lies."""

from __future__ import annotations

import ctypes

import numpy as np

from .model import numpy_dtype
from .ort_types import TYPES, type_name
from .sequences import bad_input


def _dtype_of(element_type) -> np.dtype:
    """Of a NumPy type, or of ONNX's number of one."""
    if isinstance(element_type, int):
        for name, (_, number) in TYPES.items():
            if number == element_type:
                return numpy_dtype(name)
    return np.dtype(element_type)


def _on_cpu(device_type: str) -> None:
    if device_type not in ("cpu", "CPU"):
        raise bad_input(f"the device is '{device_type}'", "fathom.Session.run_into takes arrays in a device's memory")


class OrtValue:
    """An array, or a list of arrays of a sequence."""

    def __init__(self, value):
        self._value = value

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1) -> OrtValue:
        _on_cpu(device_type)
        return cls(np.ascontiguousarray(numpy_obj) if np.ndim(numpy_obj) else np.asarray(numpy_obj))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape, element_type=np.float32, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        _on_cpu(device_type)
        return cls(np.zeros(shape, _dtype_of(element_type)))

    @classmethod
    def from_dlpack(cls, data) -> OrtValue:
        """Of a tensor of any library in the host's memory, which is not copied."""
        return cls(np.from_dlpack(data))

    def numpy(self) -> np.ndarray:
        return self._value

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.array(self._value, dtype, copy=copy)

    def __dlpack__(self, **options):
        return self._value.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._value.__dlpack_device__()

    def update_inplace(self, data) -> None:
        self._value[...] = data

    def shape(self) -> list[int]:
        return list(self._value.shape)

    def data_type(self) -> str:
        return f"seq({type_name(self._value[0].dtype)})" if self.is_tensor_sequence() else type_name(self._value.dtype)

    def element_type(self) -> int:
        return TYPES[self._value.dtype.name][1]

    def data_ptr(self) -> int:
        return self._value.ctypes.data

    def tensor_size_in_bytes(self) -> int:
        return self._value.nbytes

    def device_name(self) -> str:
        return "cpu"

    def has_value(self) -> bool:
        return self._value is not None

    def is_tensor(self) -> bool:
        return isinstance(self._value, np.ndarray)

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list)

    def is_sparse_tensor(self) -> bool:
        return False


def plain(value):
    """What an OrtValue holds; other values are what they are."""
    return value.numpy() if isinstance(value, OrtValue) else value


def _at(address: int, shape, element_type) -> np.ndarray:
    """The array that lies at an address, which is the caller's to keep."""
    dtype = _dtype_of(element_type)
    size = int(np.prod(shape)) * dtype.itemsize
    memory = (ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(memory, dtype).reshape(shape)


class IOBinding:
    """Inputs and outputs of runs, set once. An output that has no array yet gets a new one at each run."""

    def __init__(self, session):
        self._session = session
        self._inputs: dict = {}
        self._outputs: dict = {}
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu) -> None:
        self._inputs[name] = arr_on_cpu

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr) -> None:
        _on_cpu(device_type)
        self._inputs[name] = _at(buffer_ptr, shape, element_type)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self._inputs[name] = plain(ortvalue)

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None) -> None:
        _on_cpu(device_type)
        self._outputs[name] = None if buffer_ptr is None else _at(buffer_ptr, shape, element_type)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._outputs[name] = plain(ortvalue)

    def synchronize_inputs(self) -> None:
        """Nothing: what is bound is in the host's memory."""

    def synchronize_outputs(self) -> None:
        """Nothing: a run is complete when it returns."""

    def run(self) -> None:
        given = {name: array for name, array in self._outputs.items() if array is not None}
        self._results = [OrtValue(value) for value in self._session.run(list(self._outputs), self._inputs, given or None)]

    def get_outputs(self) -> list[OrtValue]:
        return self._results

    def copy_outputs_to_cpu(self) -> list:
        return [value.numpy() for value in self._results]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._results = []
