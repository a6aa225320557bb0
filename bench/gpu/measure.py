#!/usr/bin/env python3
"""Runs what `./dev bench carry FOLDER --target cuda:sm_90` packed, on the GPU at hand, without Fathom's compiler: errors against ONNX Runtime's
results, times of whole runs in turns with PyTorch under CUDA graphs, and the times of the kernels.

    measure.py [MODEL ...] [--json FILE] [--rounds N] [--no-torch] [--inductor] [--kernels N]
"""

import argparse
import ctypes
import json
import pathlib
import statistics
import subprocess
import tempfile
import time
import traceback

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent

import blocks  # noqa: E402
import with_fathom_rt as rt  # noqa: E402


class Entry(ctypes.Structure):
    _fields_ = [("kernel", ctypes.c_int32), ("start", ctypes.c_int64), ("end", ctypes.c_int64), ("tasks", ctypes.c_int64)]


class Kernel(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("nodes", ctypes.c_char_p)]


def kernels_of(library, session, values):
    """Name, nodes, groups and microseconds of every launch of a run."""
    library.library.fathom_context_set_profiling(session.context, 1)
    session.run(values)
    count = library.library.fathom_context_profile_count
    count.restype = ctypes.c_size_t
    found = []
    for i in range(count(session.context)):
        entry, kernel = Entry(), Kernel()
        library.check("fathom_context_profile", session.context, ctypes.c_size_t(i), ctypes.byref(entry))
        library.check("fathom_model_kernel", session.model, ctypes.c_size_t(entry.kernel), ctypes.byref(kernel))
        micro = (entry.end - entry.start) / 1e3
        found.append({"kernel": kernel.name.decode(), "nodes": kernel.nodes.decode()[:120], "groups": entry.tasks, "us": round(micro, 2)})
    library.library.fathom_context_set_profiling(session.context, 0)
    return found


def prepared(library, session, inputs, outputs):
    """A run with everything in place: what a program in C would pay for."""
    given, made = (rt.Tensor * len(inputs))(*inputs), (rt.Tensor * len(outputs))(*outputs)
    counts = ctypes.c_size_t(len(given)), ctypes.c_size_t(len(made))
    function = library.library.fathom_context_run
    function.restype = ctypes.c_void_p

    def run():
        if status := function(session.context, given, counts[0], made, counts[1]):
            raise RuntimeError(library.library.fathom_status_message(ctypes.c_void_p(status)).decode())

    return run


def resident(library, session, values, wanted):
    """The same on tensors of the GPU's memory, which PyTorch holds, and those of the results."""
    import torch_models

    tensors = torch_models.on_gpu([*values.values(), *(np.zeros_like(want) for want in wanted)])
    infos = [rt.Tensor.of(array, 0) for array in (*values.values(), *wanted)]
    kinds = [info.dtype for info in session.inputs] + [tensor.dtype for tensor in session.outputs]
    for info, tensor, kind in zip(infos, tensors, kinds):
        info.data, info.dtype = tensor.data_ptr(), kind
    run = prepared(library, session, infos[: len(values)], infos[len(values) :])
    run.results = tensors[len(values) :]
    return run


def error_of(got, want):
    """The largest difference, relative to the largest value there is; infinite for shapes or values that make no sense."""
    if got.shape != want.shape or not np.isfinite(got.astype("f8")).all():
        return float("inf")
    return float(np.abs(got.astype("f8") - want).max(initial=0) / max(np.abs(want.astype("f8")).max(initial=0), 1e-30))


def turn(run, seconds=0.3, least=10):
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def torch_sides(name, precision, inductor):
    """PyTorch's ways to run the network, and why there are none."""
    try:
        import torch_models

        if torch_models.module_of(name) is None:
            return {}, "torchvision has no such network"
        sides = {f"torch_{kind}": torch_models.Graphed(name, kind) for kind in ("fp32", "tf32") if precision == "fp32"}
        sides = sides or {f"torch_{precision}": torch_models.Graphed(name, precision)}
        if inductor:
            sides[f"inductor_{precision}"] = torch_models.Compiled(name, precision)
        return sides, None
    except Exception as error:
        return {}, f"{type(error).__name__}: {error}"


def measure(name, entry, library, folder, arguments):
    result = {}
    with np.load(HERE / f"{name}.npz") as arrays:
        values = {key: arrays[f"in_{i}"] for i, key in enumerate(entry["inputs"])}
        wanted = [arrays[f"out_{i}"] for i in range(entry["outputs"])]
    artifact, is_packed = HERE / f"{name}.fathom", (HERE / f"{name}.blocks").exists()
    if is_packed:
        artifact = folder / f"{name}.fathom"
        artifact.write_bytes(blocks.unpack((HERE / f"{name}.blocks").read_bytes()))
    start = time.perf_counter()
    session = rt.Session(library, artifact, 1)
    result["load_s"] = time.perf_counter() - start
    # The first run, the one that is recorded, and a replay: all alike to the last bit.
    runs = [[np.copy(value) for value in session.run(values)] for _ in range(4)]
    result["max_error"] = max(error_of(got, want) for got, want in zip(runs[0], wanted))
    result["repeats_exactly"] = all(a.tobytes() == b.tobytes() for run in runs[1:] for a, b in zip(runs[0], run))
    kernels = kernels_of(library, session, values)
    result["kernels"] = len(kernels)
    result["kernels_ms"] = sum(kernel["us"] for kernel in kernels) / 1e3
    result["slowest"] = sorted(kernels, key=lambda kernel: -kernel["us"])[: arguments.kernels]
    torch, why = ({}, "left out") if arguments.no_torch else torch_sides(name, arguments.precision, arguments.inductor)
    if why:
        result["no_torch"] = why
    arrays = [np.ascontiguousarray(values[info.name.decode()]) for info in session.inputs]
    sides = {"fathom": prepared(library, session, [rt.Tensor.of(array, info.dtype) for array, info in zip(arrays, session.inputs)], session.outputs)}
    sides |= {side: graphed.run for side, graphed in torch.items()}
    if torch:
        run = sides["fathom_resident"] = resident(library, session, values, wanted)
        run()
        result["resident_error"] = max(error_of(got.cpu().numpy(), want) for got, want in zip(run.results, wanted))
        sides |= {f"{side}_resident": graphed.run_resident for side, graphed in torch.items()}
    times = {side: [] for side in sides}
    for _ in range(arguments.rounds):
        for side, run in sides.items():
            times[side] += turn(run)
    for side, found in times.items():
        result[f"{side}_ms"] = statistics.median(found)
    for side, graphed in torch.items():
        result[f"{side}_replay_ms"] = graphed.replay_ms()
        result[f"{side}_over_fathom"] = result[f"{side}_ms"] / result["fathom_ms"]
        result[f"{side}_over_fathom_resident"] = result[f"{side}_resident_ms"] / result["fathom_resident_ms"]
    library.library.fathom_context_free(session.context)
    library.library.fathom_model_free(session.model)
    if is_packed:
        artifact.unlink()
    return result


def describe_machine():
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,memory.total", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, timeout=30).stdout.strip()
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)


def main():
    packed = json.loads((HERE / "packed.json").read_text())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="default: all that were packed")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the results there, after each model")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="turns of each side (default: 3)")
    parser.add_argument("--no-torch", action="store_true", help="Fathom alone")
    parser.add_argument("--kernels", type=int, default=8, metavar="N", help="so many of the slowest kernels are told (default: 8)")
    parser.add_argument("--inductor", action="store_true", help="torch.compile's code too, which takes a minute for each network")
    arguments = parser.parse_args()
    arguments.precision = packed["precision"]
    library = rt.Library(str(HERE / "libfathom_rt.so.1"))
    for name in ("fathom_context_free", "fathom_model_free", "fathom_context_set_profiling"):
        getattr(library.library, name).restype = None
    data = {"target": packed["target"], "precision": arguments.precision, "machine": describe_machine(), "left_out": packed["left_out"], "models": {}}
    print(data["machine"], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.models or packed["models"]:
            try:
                found = measure(name, packed["models"][name], library, pathlib.Path(folder), arguments)
            except Exception as error:
                found = {"failed": f"{type(error).__name__}: {error}", "where": traceback.format_exc()[-600:]}
            data["models"][name] = found
            told = {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in found.items() if key != "slowest"}
            print(name, json.dumps(told), flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
