"""Packs models for a GPU elsewhere: artifacts, inputs, ONNX Runtime's results from here, the runtime library and what measures. Called by
carry.py for targets that are devices; `python3 FOLDER/measure.py --json FILE` then runs there without Fathom's compiler.

The networks' matrices and filters get one magnitude and two signs each, and normalisations the same scale for all channels, so that an artifact
of a hundred million weights packs into some fifteen megabytes (blocks.py). What is computed is the same work, and the results are compared with
those of ONNX Runtime on the very same weights.
"""

import json
import pathlib
import platform
import shutil
import tempfile

import numpy as np
import onnx
import onnxruntime
from gpu.blocks import pack
from onnx import numpy_helper
from zoo import ROOT, model_file

import fathom  # isort: skip

FEW = "resnet18 resnet50 mobilenet_v2 vgg16 googlenet efficientnet_b0 densenet161 bert_base_128 vit_b_16".split()
SEEN = {"float": "float32", "int64": "int64", "int32": "int32", "bool": "bool"}


def is_device(target):
    return target.split("@")[0].split(":")[0] in ("cuda", "opencl")


def coarse(path):
    """The model with weights of which each tensor has two values."""
    proto = onnx.load(str(path))
    scales = {node.input[i] for node in proto.graph.node if node.op_type == "BatchNormalization" for i in (1, 4)}
    for tensor in proto.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor)
        if tensor.name in scales:
            values = np.ones_like(values)
        elif values.ndim >= 2 and values.size >= 1024:
            values = np.where(values < 0, -1, 1).astype(np.float32) * np.float32(values.std())
        else:
            continue
        tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return proto


def inputs_of(session):
    """Random values of the model's inputs, by ONNX Runtime's word for what they are."""
    random = np.random.default_rng(1)
    values = {}
    for info in session.get_inputs():
        kind, shape = SEEN[info.type[len("tensor(") : -1]], [size if isinstance(size, int) else 1 for size in info.shape]
        values[info.name] = random.standard_normal(shape).astype(kind) if kind == "float32" else random.integers(0, 2, shape).astype(kind)
    return values


def pack_model(name, target, precision, folder):
    with tempfile.TemporaryDirectory() as temporary:
        model, artifact = pathlib.Path(temporary) / "model.onnx", pathlib.Path(temporary) / "model.fathom"
        onnx.save(coarse(model_file(name)), str(model), save_as_external_data=True, location="model.data")
        fathom.compile(model, artifact, target=target, precision=precision)
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        inputs = inputs_of(session)
        outputs = session.run(None, inputs)
        if not all(np.isfinite(value).all() and value.std() > 0 for value in outputs):
            raise SystemExit(f"error: {name}'s outputs with such weights say nothing")
        data = artifact.read_bytes()
        packed = pack(data)
    (folder / f"{name}.blocks").write_bytes(packed)
    arrays = {f"in_{i}": value for i, value in enumerate(inputs.values())} | {f"out_{i}": value for i, value in enumerate(outputs)}
    np.savez_compressed(folder / f"{name}.npz", **arrays)
    print(f"{name}: {len(data) / 2**20:.1f} MiB packed into {len(packed) / 2**20:.1f}", flush=True)
    return {"inputs": list(inputs), "outputs": len(outputs)}


def pack_all(arguments, native_parts):
    """`native_parts` is carry.py's."""
    partial = arguments.folder.with_name(f"{arguments.folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        models, left_out = {}, {}
        for name in arguments.models or FEW:
            try:
                models[name] = pack_model(name, arguments.target, arguments.precision, partial)
            except fathom.Error as error:
                print(f"{name}: left out: {error}", flush=True)
                left_out[name] = str(error)
        for name in ("measure.py", "torch_models.py", "blocks.py"):
            shutil.copy(ROOT / "bench/gpu" / name, partial)
        shutil.copy(ROOT / "bench/peers/with_fathom_rt.py", partial)
        shutil.copy(native_parts(architecture_of(arguments.target)) / "lib/libfathom_rt.so.1", partial)
        packed = {"target": arguments.target, "precision": arguments.precision, "models": models, "left_out": left_out}
        (partial / "packed.json").write_text(json.dumps(packed, indent=1) + "\n")
        partial.rename(arguments.folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def architecture_of(target):
    """Of the machine that the device is in."""
    host = target.partition("@")[2]
    return "aarch64" if host == "aarch64" else "x86_64" if host == "x86_64" else platform.machine()
