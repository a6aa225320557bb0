"""Makes the wheels fathom-runtime and fathom-compiler from a finished build: `./dev wheel`.

Both have parts of the package `fathom`: the runtime's all Python files and what runs models, the compiler's what compiles
them. Their tags say what auditwheel found in their libraries.
"""
import argparse
import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIMITS = {"fathom_runtime": 500_000, "fathom_compiler": 80_000_000}  # bytes of a wheel


def version_of_project():
    return re.search(r"project\(fathom VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def metadata(name, summary, version, requirements):
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", f"Summary: {summary}", "Requires-Python: >=3.11"]
    lines += ["License: Apache-2.0 WITH LLVM-exception", *(f"Requires-Dist: {text}" for text in requirements)]
    extras = {extra for text in requirements for extra in re.findall(r"extra == '(\w+)'", text)}
    return "\n".join([*lines, *(f"Provides-Extra: {extra}" for extra in sorted(extras)), ""])


def write_wheel(path, info, files):
    """Files by their names within: bytes, or a path. The same bytes for the same files."""
    records = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, source in sorted(files.items()):
            data = source if isinstance(source, bytes) else source.read_bytes()
            is_program = not isinstance(source, bytes) and source.stat().st_mode & 0o111
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            records.append(f"{name},sha256={digest},{len(data)}")
        entry = zipfile.ZipInfo(f"{info}/RECORD", (1980, 1, 1, 0, 0, 0))
        entry.external_attr = 0o100644 << 16
        wheel.writestr(entry, "\n".join([*records, f"{info}/RECORD,,", ""]))


def make(folder, name, summary, version, requirements, entry_points, files):
    """A wheel for this machine alone; `entry_points` are lines by their groups."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    info = f"{name}-{version}.dist-info"
    head = f"Wheel-Version: 1.0\nGenerator: fathom\nRoot-Is-Purelib: false\nTag: {python}-{python}-{platform}\n"
    texts = {
        "METADATA": metadata(name.replace("_", "-"), summary, version, requirements),
        "WHEEL": head,
        "entry_points.txt": "\n".join(f"[{group}]\n" + "".join(f"{line}\n" for line in lines) for group, lines in entry_points.items()),
        "LICENSE": (ROOT / "LICENSE").read_text(),
    }
    path = folder / f"{name}-{version}-{python}-{python}-{platform}.whl"
    write_wheel(path, info, files | {f"{info}/{file}": text.encode() for file, text in texts.items()})
    return path


def stripped(path, folder):
    """A copy without symbols for debuggers."""
    copy = folder / path.name
    subprocess.run(["strip", "--strip-unneeded", "-o", copy, path], check=True)
    return copy


def repair(path, folder):
    """The wheel for every system whose libraries are new enough; what they may lack is taken in."""
    command = [sys.executable, "-m", "auditwheel"]
    done = subprocess.run([*command, "repair", "--only-plat", "--wheel-dir", folder, path], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"auditwheel: {done.stdout}{done.stderr}")
    [repaired] = folder.glob(f"{path.name.split('-')[0]}-*manylinux*.whl")
    return repaired


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "wheels")
    options = parser.parse_args()
    raw = options.out / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    for old in [*options.out.glob("*.whl"), *raw.iterdir()]:
        old.unlink()
    version = version_of_project()
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    product = options.build / "product"

    sources = ROOT / "python" / "fathom"
    python = {f"fathom/{path.relative_to(sources)}": path for kind in ("*.py", "*.pyi", "py.typed") for path in sources.rglob(kind)}
    runtime = python | {f"fathom/_runtime{suffix}": stripped(options.build / "python/fathom" / f"_runtime{suffix}", raw)}
    [library] = (path for path in (product / "lib").glob("libfathom_compiler.so.*") if not path.is_symlink())
    compiler = {
        f"fathom/_compiler{suffix}": product / "python" / f"_compiler{suffix}",
        f"fathom/lib/{library.name}": library,
        "fathom/bin/fathom": product / "bin" / "fathom",
        f"fathom_compiler-{version}.data/scripts/fathom": ROOT / "packaging" / "fathom",
        "fathom/bin/fathom-measure": stripped(options.build / "bin" / "fathom-measure", raw),
    }
    numpy = ["numpy>=1.24", "ml_dtypes>=0.5"]
    # As pyproject.toml has them.
    serve = ["aiohttp>=3.10; extra == 'serve'"]
    verify = [f"{name}; extra == 'verify'" for name in ("onnx>=1.23,<1.24", "onnxruntime>=1.20")]
    torch = {"torch_dynamo_backends": ["fathom = fathom.dynamo:backend"]}
    wheels = [
        make(
            raw, "fathom_runtime", "Runs models that Fathom compiled", version, [*numpy, *serve],
            {"console_scripts": ["fathom-run = fathom.run:main"]}, runtime,
        ),
        make(
            raw, "fathom_compiler", "A deep-learning compiler: an ONNX model in, native code out", version,
            [f"fathom-runtime=={version}", *serve, *verify], torch, compiler,
        ),
    ]  # fmt: skip
    for path in wheels:
        made = repair(path, options.out)
        size = made.stat().st_size
        print(f"{made.relative_to(ROOT) if made.is_relative_to(ROOT) else made}  {size / 1e6:.2f} MB")
        if size > LIMITS[made.name.split("-")[0]]:
            sys.exit(f"{made.name} is too large: {size} bytes")


if __name__ == "__main__":
    main()
