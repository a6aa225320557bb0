"""Compiles kernels for kernels.py, on a machine that need not have a GPU: python bench/gpu/prepare.py OUT [--target cuda:h200] [--precision tf32] [--filter conv]

OUT gets a PTX file for each kernel and launches.json, which says how each is launched and what it computes."""
import argparse
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

# Resnet50's convolutions: input channels, image, output channels, window, stride.
CONVOLUTIONS = [(3, 224, 64, 7, 2), (64, 56, 64, 1, 1), (64, 56, 64, 3, 1), (64, 56, 256, 1, 1), (256, 56, 128, 1, 1),
                (128, 28, 128, 3, 1), (128, 28, 512, 1, 1), (256, 14, 256, 3, 1), (1024, 14, 256, 1, 1), (512, 7, 512, 3, 1)]  # fmt: skip
# Bert's products with weights, of 128 tokens: depth, columns; and those of a head: rows, depth, columns.
LAYERS = [(768, 768), (768, 3072), (3072, 768)]
HEADS = [(128, 64, 128), (128, 128, 64)]
NOTE = re.compile(r"// (\w+): (\d+) groups of (\d+) items, with (\d+) bytes of scratch\n")


def model(node, inputs, output, weights=()):
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "kernel", [value(*item) for item in inputs.items()], [value(*output)], list(weights))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    made.ir_version = 10
    return made


def convolution(batch, channels, image, columns, window, stride):
    pad, result = window // 2, (image - 1) // stride + 1
    weight = numpy_helper.from_array(np.zeros((columns, channels, window, window), np.float32), "w")
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="y", kernel_shape=[window] * 2, strides=[stride] * 2, pads=[pad] * 4)
    return {
        "name": f"conv_b{batch}_{channels}x{image}_{columns}_{window}x{window}_s{stride}", "kind": "conv", "stride": stride, "pad": pad,
        # As the kernel has them: channels innermost.
        "shapes": [[batch, image, image, channels], [window, window, channels, columns], [batch, result, result, columns]],
        "operations": 2 * batch * result * result * columns * channels * window * window,
    }, model(node, {"x": [batch, channels, image, image]}, ("y", None), [weight])  # fmt: skip


def product(name, left, right):
    node = helper.make_node("MatMul", ["a", "b"], ["y"], name="y")
    shape = [*left[:-1], right[-1]]
    operations = 2 * int(np.prod(left)) * right[-1]
    return {"name": name, "kind": "matmul", "shapes": [left, right, shape], "operations": operations}, model(node, {"a": left, "b": right}, ("y", shape))


def kernels():
    for batch in (1, 32):
        for sizes in CONVOLUTIONS:
            yield convolution(batch, *sizes)
        for depth, columns in LAYERS:
            yield product(f"layer_b{batch}_{depth}_{columns}", [batch, 128, depth], [depth, columns])
        for rows, depth, columns in HEADS:
            yield product(f"head_b{batch}_{rows}_{depth}_{columns}", [batch, 12, rows, depth], [batch, 12, depth, columns])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--target", default="cuda:h200")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--filter", default="")
    parser.add_argument("--fathom", default="fathom")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    launches = []
    for launch, made in kernels():
        if arguments.filter not in launch["name"]:
            continue
        path = arguments.out / (launch["name"] + ".onnx")
        path.write_bytes(made.SerializeToString())
        run = subprocess.run([arguments.fathom, "compile", path, "--target", arguments.target, "--precision", arguments.precision, "--emit", "asm", "--quiet"], capture_output=True, text=True)
        path.unlink()
        if run.returncode:
            sys.exit(run.stderr)
        # A text for each kernel, headed by its note; layouts are changed by others.
        parts = NOTE.split(run.stdout)[1:]
        [(entry, groups, items, scratch, text)] = [part for part in zip(*[iter(parts)] * 5) if re.match("fathom_(Conv|MatMul)", part[0])]
        path.with_suffix(".ptx").write_text(text)
        launches.append(launch | {"ptx": path.with_suffix(".ptx").name, "entry": entry, "groups": int(groups), "items": int(items), "scratch": int(scratch)})
    (arguments.out / "launches.json").write_text(json.dumps(launches, indent=1))


if __name__ == "__main__":
    main()
