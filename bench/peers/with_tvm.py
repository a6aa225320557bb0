"""TVM (Relax) with its default pipeline for CPUs, untuned: its tuner would need hours for each model."""

import pathlib
import platform

import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def host_target(threads):
    """This CPU. LLVM goes by the CPU's name; a hypervisor may hide what the name promises."""
    target = {"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu(), "num-cores": threads}
    if platform.machine() == "aarch64":
        known = pathlib.Path("/proc/cpuinfo").read_text().split()
        target["mtriple"] = "aarch64-linux-gnu"
        target["mattr"] = ["+neon"] + [f"-{name}" for name in ("sve", "sve2") if name not in known]
    return tvm.target.Target(target)


def load(model, threads, folder):
    proto = onnx.load(model)
    constants = {tensor.name for tensor in proto.graph.initializer}
    names = [value.name for value in proto.graph.input if value.name not in constants]
    compiled = relax.build(from_onnx(proto, keep_params_in_input=False), target=host_target(threads))
    main = relax.VirtualMachine(compiled, tvm.cpu())["main"]

    def run(inputs):
        results = main(*(tvm.runtime.tensor(inputs[name]) for name in names))
        return [results.numpy()] if hasattr(results, "numpy") else [result.numpy() for result in results]

    return run, tvm.__version__
