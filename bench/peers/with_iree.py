"""IREE for this CPU. What it compiles is kept, as its compiler takes a while."""

import importlib.metadata
import pathlib
import subprocess
import sys

import iree.runtime
import onnx

# Its importer knows operator sets from here on.
OLDEST_OPSET = 17


def compile_model(model, folder):
    imported, compiled = folder / f"{model.stem}.mlir", folder / f"{model.stem}.vmfb"
    if compiled.exists() and compiled.stat().st_mtime > model.stat().st_mtime:
        return compiled
    tools = pathlib.Path(sys.executable).parent
    [opset] = [entry.version for entry in onnx.load(model, load_external_data=False).opset_import if entry.domain in ("", "ai.onnx")]
    upgrade = ["--opset-version", str(OLDEST_OPSET)] if opset < OLDEST_OPSET else []
    target = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host"]
    try:
        for command in (
            [tools / "iree-import-onnx", model, "-o", imported, *upgrade],
            [tools / "iree-compile", imported, "-o", compiled, "--iree-opt-level=O3", *target],
        ):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError((done.stderr.strip().splitlines() or ["it says nothing"])[0])
    finally:
        imported.unlink(missing_ok=True)  # as large as the weights
    return compiled


def load(model, threads, folder):
    compiled = compile_model(model, folder)
    # One thread is best used without a scheduler.
    if threads > 1:
        iree.runtime._binding.parse_flags(f"--task_topology_max_group_count={threads}")
    config = iree.runtime.Config(device=iree.runtime.get_device("local-task" if threads > 1 else "local-sync"))
    module = iree.runtime.VmModule.mmap(config.vm_instance, str(compiled))
    [entry] = [name for name in module.function_names if not name.startswith("__") and not name.endswith("$async")]
    call = iree.runtime.load_vm_module(module, config)[entry]
    names = [value.name for value in inputs_of(model)]

    def run(inputs):
        results = call(*(inputs[name] for name in names))
        return [result.to_host() for result in (results if isinstance(results, (tuple, list)) else [results])]

    return run, importlib.metadata.version("iree-base-runtime")


def inputs_of(model):
    graph = onnx.load(model, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    return [value for value in graph.input if value.name not in constants]
