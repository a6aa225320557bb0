"""Writes tests/fuzz/corpus: where libFuzzer begins, and what every build replays. Small, and from both ends: sound files and broken ones.

corpus.py [KIND ...]: those kinds, or all."""
import io
import struct
import sys
from pathlib import Path

import generate
import mutate
import numpy as np
from onnx import TensorProto, helper

import fathom

HERE = Path(__file__).parent
MOST_BYTES = 1500


def importer():
    for number in range(0, 194, 8):
        case = generate.graph(11, number)
        data = case.model.SerializeToString() if case else b""
        if 0 < len(data) <= MOST_BYTES:
            yield f"model-{number}", data
    for number in range(40):
        data = mutate.file(12, number)
        if len(data) <= 600:
            yield f"damaged-{number}", data


def artifact():
    for machine in (62, 183):  # x86-64, aarch64
        header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 1, 64, 0, 0)
        segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 120, 120, 4096)
        yield f"segment-{machine}", header + segment
        yield f"cut-{machine}", header[:40]
        names = b"\0.fathom.manifest\0.strtab\0"
        manifest = b'{"inputs": []}\0'
        sections = bytes(64)
        sections += struct.pack("<IIQQQQIIQQ", 1, 1, 0, 0, 64, len(manifest), 0, 0, 1, 0)
        sections += struct.pack("<IIQQQQIIQQ", 18, 3, 0, 0, 64 + len(manifest), len(names), 0, 0, 1, 0)
        head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 0, 64 + len(manifest) + len(names), 0, 64, 56, 0, 64, 3, 2)
        yield f"manifest-{machine}", head + manifest + names + sections
    yield "empty", b""
    yield "text", b"not an artifact"


def npy():
    arrays = [np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((0, 3), np.int64), np.array(True), np.asfortranarray(np.ones((2, 2))),
              np.arange(3, dtype=">i4"), np.array(["text"])]
    for i, array in enumerate(arrays):
        file = io.BytesIO()
        np.save(file, array)
        yield f"array-{i}", file.getvalue()
        yield f"cut-{i}", file.getvalue()[:-1]
    yield "huge", b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }".ljust(117) + b"\n"
    yield "version", b"\x93NUMPY\x09\x00v\x00"


def model():
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Softmax", ["b"], ["y"])]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", ["n", 3, 9, 9]), ("w", [8, 3, 3, 3]))]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def plan():
    for target in ("neoverse-v1", "x86-64-v3"):
        text = fathom.compile(model(), emit="plan", target=target)
        yield target, text.encode()
        yield f"{target}-cut", text[: len(text) // 2].encode()
    yield "empty", b""
    yield "list", b"- a\n- b\n"
    yield "deep", b"[" * 300


def program():
    """The examples, and the small well- and ill-typed ones of the tests, some of them cut."""
    for path in sorted((HERE.parents[1] / "examples/functional").glob("*.fir")):
        text = path.read_bytes()
        yield path.stem, text
        yield f"{path.stem}-cut", text[: len(text) // 2]
    lines = (HERE.parents[1] / "tests/functional/typing.txt").read_text().splitlines()
    cases = [line.split(" | ", 1)[1] for line in lines if " | " in line and not line.startswith("#")]
    for number, text in enumerate(cases[::8]):
        yield f"typing-{number}", text.encode()
    yield "deep", b"fn main(x: Tensor[f32]) { " + b"(" * 3000
    yield "empty", b""
    yield "bytes", bytes(range(256))


def machine():
    for path in sorted((HERE.parents[1] / "compiler/target/machines").glob("*.yaml"))[:4]:
        yield path.stem, path.read_bytes()
    yield "negative", b"cpu: generic\nvector-bytes: -16\n"
    yield "unknown", b"cpu: nobody\nwheels: 4\n"
    yield "empty", b""


def main():
    kinds = {make.__name__: make for make in (importer, program, artifact, npy, plan, machine)}
    for make in [kinds[name] for name in sys.argv[1:] or kinds]:
        folder = HERE / "corpus" / make.__name__
        folder.mkdir(parents=True, exist_ok=True)
        # What libFuzzer once found stays.
        for old in folder.iterdir():
            if not old.name.startswith("found-"):
                old.unlink()
        for name, data in make():
            (folder / name).write_bytes(data)
        print(make.__name__, len(list(folder.iterdir())))


if __name__ == "__main__":
    sys.exit(main())
