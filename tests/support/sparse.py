"""Networks of the zoo whose weights are all zeros and take no place on a disk, for what does not depend on their values."""
import shutil

import onnx
from onnx import TensorProto

from support.tool import ROOT


def sparse(name, folder):
    """The path of a network's graph in a folder, with sparse files beside it."""
    model = onnx.load(ROOT / "models" / f"{name}.onnx", load_external_data=False)
    ends = {}
    for tensor in model.graph.initializer:
        if tensor.data_location == TensorProto.EXTERNAL:
            where = {entry.key: entry.value for entry in tensor.external_data}
            end = int(where.get("offset", 0)) + int(where.get("length", 0))
            ends[where["location"]] = max(ends.get(where["location"], 0), end)
    for location, end in ends.items():
        with open(folder / location, "wb") as file:
            file.truncate(end)
    return shutil.copy(ROOT / "models" / f"{name}.onnx", folder)
