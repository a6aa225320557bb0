#!/usr/bin/env python3
"""Packs what measuring on another machine needs, which then needs neither Fathom nor a compiler.

    carry.py FOLDER --target CPU [MODEL ...] [--all] [--precision P]

FOLDER gets the models' artifacts for that CPU, with weights that the runtime makes up from a seed so that they are small, inputs, the runtime
library and these scripts. Take it there and run `python3 FOLDER/bench/carried.py`, with a Python that has NumPy, onnx and onnxruntime.
For a device (cuda:sm_90) it gets what bench/gpu/pack.py says: run `python3 FOLDER/measure.py` there.
For a CPU of another architecture the library is built, with the C++ library of Debian's g++-aarch64-linux-gnu or g++-x86-64-linux-gnu.
"""
import argparse
import json
import pathlib
import platform
import shutil
import subprocess
import sys

import numpy as np
from gpu.pack import is_device, pack_all
from zoo import ALL, BUILD, FEW, ROOT, digest, is_model, model_file

import fathom  # isort: skip
from fathom.inputs import random_inputs  # isort: skip

LIBRARY, MACHINE_BENCH = "lib/libfathom_rt.so.1", "bin/machine_bench"
# By the number that an ELF file has for it.
ARCHITECTURES = {62: "x86_64", 183: "aarch64"}
SCRIPTS = "carried.py load.py report.py timing.py turns.py zoo.py peers".split()


def session_here(path, artifact):
    """A session of the artifact, and whether it is the artifact's: another for this CPU takes its place where it cannot be run here."""
    try:
        return fathom.Session(artifact), True
    except fathom.Error:
        here = artifact.with_suffix(".here")
        try:
            fathom.compile(path, here, weights="seed:1")
            return fathom.Session(here), False
        finally:
            here.unlink(missing_ok=True)


def architecture(file):
    """What an ELF file is for."""
    return ARCHITECTURES[int.from_bytes(file.read_bytes()[18:20], "little")]


def native_parts(wanted):
    """The build folder with the library and the program of an architecture; it is made for one that is not this machine's."""
    if wanted == platform.machine():
        return BUILD
    triple, folder = f"{wanted}-linux-gnu", BUILD / "foreign" / wanted
    if not shutil.which(f"{triple}-g++"):
        sys.exit(f"error: packing for {wanted} needs its C++ library: install Debian's g++-{triple.replace('_', '-')}")
    compiler = ["-DCMAKE_CXX_COMPILER=clang++-22", f"-DCMAKE_CXX_COMPILER_TARGET={triple}"]
    for words in (["-S", ROOT / "bench/foreign", "-B", folder, "-G", "Ninja", *compiler], ["--build", folder]):
        done = subprocess.run(["cmake", *words], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"error: building for {wanted} failed:\n{done.stdout}{done.stderr}")
    return folder


def pack_model(name, target, folder):
    path, artifact = model_file(name), folder / f"{name}.fathom"
    fathom.compile(path, artifact, target=target, weights="seed:1")
    session, is_its_own = session_here(path, artifact)
    inputs = random_inputs(session)
    np.savez(folder / f"{name}.npz", *inputs.values())
    shutil.copy(ROOT / "models" / f"{name}.onnx", folder.parent / "models")
    return {"inputs": list(inputs), "digest": digest(session.run(None, inputs)) if is_its_own else None}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER", help="is made; must not be there yet")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"names in models/; default: {' '.join(FEW)}")
    parser.add_argument("--all", action="store_true", help="all networks that the tests verify")
    parser.add_argument("--target", required=True, metavar="CPU", help="or a device, as `fathom compile --target` takes it")
    parser.add_argument("--precision", default="fp32", help="of a device's products, as `fathom compile --precision` takes it (default: fp32)")
    arguments = parser.parse_intermixed_args()
    if arguments.folder.exists():
        parser.error(f"'{arguments.folder}' is there already")
    if arguments.precision != "fp32" and not is_device(arguments.target):
        parser.error("--precision is for devices")
    for name in arguments.models:
        if name.endswith(".onnx") or not is_model(name):
            parser.error(f"there is no model '{name}' in models/")
    return arguments


def main():
    arguments = parse_arguments()
    if is_device(arguments.target):
        return pack_all(arguments, native_parts)
    partial = arguments.folder.with_name(f"{arguments.folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    for name in ("artifacts", "bench", "models", "build/bin", "build/lib"):
        (partial / name).mkdir(parents=True)
    try:
        packed = {}
        for name in arguments.models or (ALL if arguments.all else FEW):
            packed[name] = pack_model(name, arguments.target, partial / "artifacts")
            print(name, "" if packed[name]["digest"] else "(results unknown: this machine cannot run it)", flush=True)
        for name in SCRIPTS:
            source = ROOT / "bench" / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, partial / "bench" / name)
        shutil.copy(ROOT / "models/fill_weights.py", partial / "models")
        [wanted] = {architecture(file) for file in (partial / "artifacts").glob("*.fathom")}
        for part in (LIBRARY, MACHINE_BENCH):
            shutil.copy(native_parts(wanted) / part, partial / "build" / part)
        (partial / "packed.json").write_text(json.dumps({"target": arguments.target, "models": packed}, indent=1) + "\n")
        partial.rename(arguments.folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


if __name__ == "__main__":
    try:
        main()
    except fathom.Error as error:
        sys.exit(f"error: {error}")
