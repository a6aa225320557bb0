"""Runs kernels that prepare.py compiled, on a machine with a GPU, beside what torch calls for the same (cuBLAS, cuDNN): python kernels.py DIR [--json OUT]

Needs torch and the driver (libcuda.so.1), nothing of Fathom. Results are compared with torch in float64. Times are medians of replays of CUDA graphs
that hold 20 launches each; both sides take turns in one process. A ratio above 1: ours is faster."""
import argparse
import ctypes
import json
import pathlib
import statistics
import sys
from ctypes import byref, c_void_p

import torch

LAUNCHES, REPLAYS = 20, 15
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(status, byref(text))
        raise RuntimeError(f"{name}: {text.value.decode() if text.value else status}")


class Kernel:
    def __init__(self, directory, launch):
        self.launch, module, self.function = launch, c_void_p(), c_void_p()
        text = (directory / launch["ptx"]).read_bytes() + b"\0"
        log, size = ctypes.create_string_buffer(1 << 14), 1 << 14
        options = (ctypes.c_int * 2)(5, 6)  # CU_JIT_ERROR_LOG_BUFFER and its size
        values = (c_void_p * 2)(ctypes.cast(log, c_void_p), c_void_p(size))
        try:
            call("cuModuleLoadDataEx", byref(module), text, 2, options, values)
        except RuntimeError as error:
            raise RuntimeError(f"{error}: {log.value.decode()}") from None
        call("cuModuleGetFunction", byref(self.function), module, launch["entry"].encode())
        if launch.get("shared"):
            call("cuFuncSetAttribute", self.function, 8, launch["shared"])

    def __call__(self, *tensors):
        pointers = [c_void_p(tensor.data_ptr()) for tensor in tensors]
        arguments = (c_void_p * len(pointers))(*[ctypes.cast(byref(pointer), c_void_p) for pointer in pointers])
        stream = c_void_p(torch.cuda.current_stream().cuda_stream)
        call("cuLaunchKernel", self.function, self.launch["groups"], 1, 1, self.launch["items"], 1, 1, self.launch.get("shared", 0), stream, arguments, None)


def torch_kernels(launch, operands):
    """What torch calls, in the layouts that it may choose, and the result in float64 in ours."""
    left, right = operands
    if launch["kind"] == "matmul":
        return [lambda: torch.matmul(left, right)], torch.matmul(left.double(), right.double())
    convolve = lambda x, w: torch.nn.functional.conv2d(x, w, stride=launch["stride"], padding=launch["pad"])
    x, w = left.permute(0, 3, 1, 2), right.permute(3, 2, 0, 1)
    plain = x.contiguous(), w.contiguous()
    last = [tensor.contiguous(memory_format=torch.channels_last) for tensor in plain]
    want = convolve(plain[0].double(), plain[1].double()).permute(0, 2, 3, 1)
    return [lambda: convolve(*plain), lambda: convolve(*last)], want


def captured(body):
    body()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(LAUNCHES):
            body()
    return graph


def times(graphs):
    """Microseconds of a launch, side by side."""
    found = [[] for _ in graphs]
    for round in range(REPLAYS + 3):
        for graph, into in zip(graphs, found):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            if round >= 3:
                into.append(begin.elapsed_time(end) * 1000 / LAUNCHES)
    return [statistics.median(each) for each in found]


def measure(directory, launch, precision):
    generator = torch.Generator("cuda").manual_seed(1)
    left, right, shape = launch["shapes"]
    operands = [torch.randn(*left, device="cuda", generator=generator), torch.randn(*right, device="cuda", generator=generator)]
    result = torch.full(shape, float("nan"), device="cuda")
    fault = torch.zeros(1, dtype=torch.int32, device="cuda")
    scratch = torch.zeros(max(1, launch["scratch"] * launch["groups"]), dtype=torch.uint8, device="cuda")
    kernel = Kernel(directory, launch)
    run = lambda: kernel(*operands, result, fault, scratch)
    run()
    torch.cuda.synchronize()
    others, want = torch_kernels(launch, operands)
    error = float((result.double() - want).norm() / want.norm())
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    ours, *theirs = times([captured(run), *map(captured, others)])
    best = min(theirs)
    moved = sum(tensor.nbytes for tensor in (*operands, result))
    return {"name": launch["name"], "us": ours, "tflops": launch["operations"] / ours / 1e6, "gbps": moved / ours / 1e3, "torch_us": best,
            "torch_tflops": launch["operations"] / best / 1e6, "ratio": best / ours, "error": error, "fault": int(fault)}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--filter", default="")
    parser.add_argument("--precision", choices=["fp32", "tf32"], default="fp32", help="what torch may multiply in")
    parser.add_argument("--bound", type=float, help="of the relative error; what --precision says, 1e-5 or 1e-3")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.zeros(1, device="cuda")  # makes the context that the driver's calls take
    rows, wrong, bound = [], 0, arguments.bound or {"fp32": 1e-5, "tf32": 1e-3}[arguments.precision]
    print(f"{'kernel':34} {'us':>9} {'TFLOP/s':>8} {'GB/s':>7} {'torch us':>9} {'TFLOP/s':>8} {'ratio':>6} {'error':>8}")
    for launch in json.loads((arguments.directory / "launches.json").read_text()):
        if arguments.filter not in launch["name"]:
            continue
        row = measure(arguments.directory, launch, arguments.precision)
        isWrong = not row["error"] < bound or row["fault"]
        wrong += bool(isWrong)
        rows.append(row)
        print("{name:34} {us:9.2f} {tflops:8.2f} {gbps:7.0f} {torch_us:9.2f} {torch_tflops:8.2f} {ratio:6.2f} {error:8.1e}".format(**row), "WRONG" if isWrong else "", flush=True)
    if rows:
        print(f"geometric mean of {len(rows)} ratios: {statistics.geometric_mean(row['ratio'] for row in rows):.3f}, wrong: {wrong}")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
