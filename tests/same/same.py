"""Whether this build makes the same artifacts as another: code, memory plan and weights; the manifest may differ. ./dev same calls it.

    same.py OLD_BUILD [NETWORK...]         some networks, for all targets
    same.py OLD_BUILD --all [NETWORK...]   all networks in all modes of floating point, and ONNX's node cases

Prints every case that differs and the functions that do; the host's functions hold the memory plan. What the old build made is
kept in build/same, so that only the first comparison with it takes twice as long.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = ["neoverse-v1", "neoverse-n1", "x86-64-v3", "sapphirerapids"]
MODES = ["fast", "strict", "fastest"]
# Every class of kernels, in networks that compile in a second or two.
QUICK = ["resnet18", "mobilenet_v2", "wrn_40_2_g8", "mobilebert_128", "lstm_2x512", "ssdlite320_mobilenet_v3_large"]
NODE_CASES = pathlib.Path("/usr/share/libonnx-testdata/data/node")
LABEL = re.compile(r"^([^\s.#][^\s:]*):")
TRAILER = 32  # bytes, as runtime/Checksum.h has it


def compile(build, model, target, mode, *options):
    command = [build / "bin" / "fathom", "compile", model, "--target", target, "--fp", mode, "--quiet", "--jobs", "1", *options]
    return subprocess.run(command, capture_output=True, text=True)


def functions(assembly):
    """The digest of each function with the data behind it, by name."""
    parts, name = {}, ""
    for line in assembly.splitlines():
        if label := LABEL.match(line):
            name = label[1]
        parts.setdefault(name, hashlib.sha256()).update(line.encode())
    return {name: digest.hexdigest() for name, digest in parts.items()}


def weights(build, artifact):
    told = json.loads(subprocess.run([build / "bin" / "fathom", "inspect", "--json", artifact], capture_output=True, check=True).stdout)
    digest, left = hashlib.sha256(), told["file_weight_bytes"]
    with open(artifact, "rb") as file:
        file.seek(-left - TRAILER, os.SEEK_END)
        while left:
            piece = file.read(min(left, 1 << 24))
            digest.update(piece)
            left -= len(piece)
    return {"weights": digest.hexdigest(), "arena": told["arena_bytes"], "scratch": told["scratch_bytes"]}


def made(build, model, target, mode):
    """What a build makes of a model: digests by name; or how it refuses it."""
    code = compile(build, model, target, mode, "--emit", "asm")
    if code.returncode:
        return {"refused": code.stderr}
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        artifact = pathlib.Path(folder) / "model.fathom"
        result = compile(build, model, target, mode, "--output", artifact)
        return functions(code.stdout) | (weights(build, artifact) if result.returncode == 0 else {"refused": result.stderr})


def compared(old, new, memory, case):
    """The names that differ. What the old build makes is taken from `memory`, a file, if it is there."""
    if memory.exists():
        before = json.loads(memory.read_text())
    else:
        before = made(old, *case)
        unfinished = memory.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(before))
        unfinished.rename(memory)
    after = made(new, *case)
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def filled(network):
    """The path of a model of the zoo with seeded weights."""
    folder = ROOT / "build" / "models"
    if not (folder / f"{network}.onnx").exists():
        subprocess.run([sys.executable, ROOT / "models" / "fill_weights.py", folder, network], check=True)
    return folder / f"{network}.onnx"


def all_cases(options):
    networks = options.networks or (sorted(p.stem for p in (ROOT / "models").glob("*.onnx")) if options.all else QUICK)
    modes = MODES if options.all else MODES[:1]
    for network in networks:
        for target in TARGETS:
            for mode in modes:
                yield filled(network), target, mode
    if options.all and not options.networks:
        for folder in sorted(NODE_CASES.iterdir()):
            for target in TARGETS:
                yield folder / "model.onnx", target, MODES[0]


def name_of(case):
    model, target, mode = case
    return f"{model.stem if model.stem != 'model' else model.parent.name} {target} {mode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path, metavar="OLD_BUILD")
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    tool = options.old / "bin" / "fathom"
    if not tool.exists():
        parser.error(f"there is no {tool}")
    memory = ROOT / "build" / "same" / hashlib.sha256(tool.read_bytes()).hexdigest()[:16]
    memory.mkdir(parents=True, exist_ok=True)
    cases = list(all_cases(options))
    different = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(compared, options.old, ROOT / "build", memory / f"{name_of(case).replace(' ', '.')}.json", case) for case in cases]
        for case, job in zip(cases, jobs):
            names = job.result()
            different += bool(names)
            if names:
                print(f"{name_of(case)}: {len(names)} differ: {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}", flush=True)
            elif sys.stdout.isatty():
                print(f"{name_of(case)}: same", flush=True)
    print(f"{len(cases) - different} of {len(cases)} artifacts are the same")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
