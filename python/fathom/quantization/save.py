"""Files of quantised models: whole or not there, with weights beside where one file cannot hold them."""

from __future__ import annotations

import os
import secrets

from ..errors import Error
from ..reference import import_onnx

# A message of protobuf has 2 GiB at most.
LARGEST = 1 << 30
# What is smaller stays with the graph.
SMALLEST_BESIDE = 1024


def bytes_of(model) -> int:
    """What the tensors of the graph take, wherever they lie."""
    onnx = import_onnx()
    total = 0
    for tensor in model.graph.initializer:
        where = {entry.key: entry.value for entry in tensor.external_data}
        if tensor.data_location == onnx.TensorProto.EXTERNAL and where.get("length", "").isdigit():
            total += int(where["length"])
        else:
            total += tensor.ByteSize()
    return total


def files_of(model, path: str, folder: str) -> set[str]:
    """The model's own files, which no output may replace."""
    beside = {entry.value for tensor in model.graph.initializer for entry in tensor.external_data if entry.key == "location"}
    files = {os.path.join(folder, name) for name in beside} | ({path} if path else set())
    return {os.path.realpath(file) for file in files}


def data_file_of(path: str) -> str:
    return path + ".data"


def check_output(path: str, own: set[str]):
    """Said ahead of what takes minutes."""
    if not path:
        raise Error("the output's path is empty", "F2001", 2)
    target = os.path.realpath(path)
    if target in own or data_file_of(target) in own:
        raise Error(f"cannot write '{path}': it would replace the model or its weights", "F1014", 1)
    if os.path.exists(target) and not os.path.isfile(target):
        raise Error(f"cannot write '{path}': it is not a regular file", "F1014", 1)
    if not os.access(os.path.dirname(target), os.W_OK):
        raise Error(f"cannot write '{path}': its folder is not there or cannot be written", "F1014", 1)


def save(model, folder: str, path: str):
    """Writes the model; its tensors may lie in files beneath `folder`."""
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f"fathom-{os.getpid()}-{secrets.token_hex(8)}.tmp")
    finished = {temporary: target}
    try:
        if bytes_of(model) > LARGEST:
            finished = {temporary + ".data": data_file_of(target), **finished}
            model = _write_beside(model, folder, temporary + ".data", os.path.basename(data_file_of(target)))
        with open(temporary, "xb") as file:
            file.write(model.SerializeToString(deterministic=True))
        # The graph last: where it is, its weights are.
        for made, name in finished.items():
            os.replace(made, name)
    except OSError as error:
        raise Error(f"cannot write '{path}': {error.strerror}", "F1014", 1) from error
    finally:
        # Also where Ctrl-C ends it.
        for made in finished:
            if os.path.exists(made):
                os.unlink(made)


def _write_beside(model, folder: str, path: str, name: str):
    """A copy of the model whose large tensors are in the file at `path`, which will be called `name`."""
    onnx = import_onnx()
    graph_only = onnx.ModelProto()
    graph_only.CopyFrom(model)
    with open(path, "xb") as file:
        for tensor in graph_only.graph.initializer:
            _take_in(tensor, folder)
            if not tensor.HasField("raw_data") or len(tensor.raw_data) < SMALLEST_BESIDE:
                continue
            file.write(b"\0" * (-file.tell() % 64))
            onnx.external_data_helper.set_external_data(tensor, name, file.tell(), len(tensor.raw_data))
            file.write(tensor.raw_data)
            tensor.ClearField("raw_data")
    return graph_only


def take_all_in(model, folder: str):
    """The model holds its weights itself, where it can."""
    if bytes_of(model) <= LARGEST:
        for tensor in model.graph.initializer:
            _take_in(tensor, folder)


def _take_in(tensor, folder: str):
    onnx = import_onnx()
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        onnx.external_data_helper.load_external_data_for_tensor(tensor, folder)
        tensor.ClearField("data_location")
        del tensor.external_data[:]
