"""`python -m fathom.farm`: tunes models for targets on all machines of a Ray cluster, and gathers what they find in one database.

A task is one part of a model's kernels for one target. Whoever does it keeps a database of its own and hands over what is in there,
so that the one of the team is written by this program alone; a machine that is lost costs what it had in hand, which another does again.
"""

from __future__ import annotations

import argparse
import collections.abc
import json
import os
import pathlib
import socket
import subprocess
import sys

from .errors import Error, printable

# A worker that dies takes its task with it; so often it is given to another one.
RETRIES = 3


def tune_part(files: dict[str, bytes], known: str, words: list[str]) -> dict:
    """What a worker does: `fathom tune WORDS` beside the files, the first of which is the model. Gives lines of schedules and
    what was told, or why there is nothing."""
    import ctypes
    import os
    import signal
    import subprocess
    import sys
    import tempfile

    tool = [os.environ["FATHOM_BIN"]] if os.environ.get("FATHOM_BIN") else [sys.executable, "-m", "fathom"]
    # Who loses its worker is to end as well: another one does its task.
    die_with_parent = lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    with tempfile.TemporaryDirectory(prefix="fathom-farm-") as folder:

        def run(*arguments, text=None):
            process = subprocess.run(
                [*tool, *arguments], input=text, capture_output=True, text=True, cwd=folder, preexec_fn=die_with_parent
            )
            if process.returncode:
                raise RuntimeError(process.stderr.strip() or f"'fathom {arguments[0]}' ended with {process.returncode}")
            return process

        for name, content in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        try:
            if known:
                run("db", "import", "-", "--db", "part.db", text=known)
            tuned = run("tune", next(iter(files)), *words, "--db", "part.db", "--json")
            lines = run("db", "export", "--db", "part.db").stdout
        except (OSError, RuntimeError) as error:
            return {"problem": str(error)}
        return {"lines": lines, "kernels": tuned.stdout, "said": tuned.stderr.strip()}


def tensors_of(message):
    """All tensors of a model: weights, also of branches and loops, and what attributes have, also those of functions."""
    import onnx

    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in value if isinstance(value, collections.abc.Iterable) else [value]:
            if isinstance(part, onnx.TensorProto):
                yield part
            else:
                yield from tensors_of(part)


def external_file(tensor) -> str | None:
    """The file that a tensor's values are in, where it is another one."""
    import onnx.external_data_helper as external

    return external.ExternalDataInfo(tensor).location if external.uses_external_data(tensor) else None


def files_of(model: pathlib.Path) -> dict[str, bytes]:
    """The model and the files beside it that it names, by their names; the model is the first."""
    import onnx

    try:
        content = model.read_bytes()
        files = {model.name: content}
        proto = onnx.load_from_string(content)
        for name in sorted({external_file(tensor) for tensor in tensors_of(proto)} - {None}):
            path = pathlib.PurePath(name)
            if path.is_absolute() or ".." in path.parts:
                raise Error(f"'{model}' names a file outside of its folder: '{name}'", "F1005", 1)
            # As the compiler has it, which would not see there that it was a link here.
            if any((model.parent / part).is_symlink() for part in (path, *path.parents[:-1])):
                raise Error(f"'{model}' names a link, which may lead outside of its folder: '{name}'", "F1005", 1)
            if (model.parent / path).exists() and not (model.parent / path).is_file():
                raise Error(f"'{model}' names what is no plain file: '{name}'", "F1005", 1)
            files[name] = (model.parent / path).read_bytes()
    except OSError as error:
        raise Error(f"cannot read '{error.filename}': {error.strerror}", "F1001", 1) from None
    except Exception as error:
        if isinstance(error, Error):
            raise
        raise Error(f"'{model}' is not an ONNX model: {error}", "F1002", 1) from None
    return files


class Database:
    """The one where all that is found goes, by the tool's own words."""

    def __init__(self, name: str):
        from .__main__ import find_tool

        self.tool, self.name = find_tool(), name

    def _run(self, *words, text=None):
        command = [self.tool, "db", *words, "--db", self.name]
        process = subprocess.run(command, input=text, capture_output=True, text=True)
        return process.returncode, process.stdout, process.stderr.strip()

    def open(self):
        """Makes it where it is missing, and complains where it cannot be written, before anybody works for it."""
        code, _, problem = self._run("import", "-", text='{"fathom-schedules":1}\n')
        if code:
            raise SystemExit(problem)

    def lines(self) -> str:
        code, lines, problem = self._run("export")
        if code:
            raise SystemExit(problem)
        return lines

    def add(self, lines: str):
        code, _, problem = self._run("import", "-", text=lines)
        if code:
            raise SystemExit(problem)


def connect(address: str):
    try:
        import ray
    except ImportError:
        raise Error("Ray is not installed", "F5001", 5, hint="pip install -r requirements-ray.txt") from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options = {"include_dashboard": False} if address == "local" else {}
    try:
        # Ray itself tries for minutes.
        host, _, port = address.rpartition("://")[2].rpartition(":")
        if host:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        ray.init(address=address, log_to_driver=False, logging_level="error", **options)
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        hint = "`ray status` on its machine says more"
        raise Error(f"cannot reach Ray at '{address}': {reason}", "F5001", 5, hint=hint) from None
    return ray


def submit(ray, arguments, files: dict) -> dict:
    """All tasks, by what they promise."""
    database_lines = ray.put(arguments.database.lines())
    work = ray.remote(tune_part).options(num_cpus=arguments.cpus, max_retries=RETRIES)
    tasks = {}
    for model in arguments.models:
        content = ray.put(files[model])
        for target in arguments.targets:
            for part in range(1, arguments.parts + 1):
                words = ["--target", target, "--part", f"{part}/{arguments.parts}", *arguments.rest]
                label = f"{model.name} for {target}, part {part} of {arguments.parts}"
                tasks[work.remote(content, database_lines, words)] = label
    return tasks


def gather(ray, tasks: dict, database: Database) -> int:
    """Takes what comes, in the order in which it does. Gives the number of tasks that failed."""
    failed, waiting = 0, dict(tasks)
    while waiting:
        (done,), _ = ray.wait(list(waiting), num_returns=1)
        label = waiting.pop(done)
        progress = f"[{len(tasks) - len(waiting)}/{len(tasks)}] {label}"
        try:
            found = ray.get(done)
        except ray.exceptions.RayError as error:
            found = {"problem": f"error: [F5001] lost, {RETRIES} times again: {type(error).__name__}"}
        if "problem" in found:
            failed += 1
            print(f"{progress}: {printable_lines(found['problem'])}", file=sys.stderr, flush=True)
            continue
        database.add(found["lines"])
        kernels = [kernel for kernel in json.loads(found["kernels"])["kernels"] if kernel["trials"]]
        planned = sum(kernel["planned_cost"] * kernel["uses"] for kernel in kernels)
        best = sum(kernel["best_cost"] * kernel["uses"] for kernel in kernels)
        ratio = f", planned / found {planned / best:.3f}" if best else ""
        if found["said"]:
            print(printable_lines(found["said"]), file=sys.stderr)
        print(f"{progress}: {len(kernels)} kernels{ratio}", flush=True)
    return failed


def printable_lines(text: str) -> str:
    """It comes from another machine."""
    return "\n".join(printable(line) for line in text.splitlines())


def parse(words: list[str]):
    parser = argparse.ArgumentParser(prog="python -m fathom.farm", description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL")
    add = parser.add_argument
    add("--ray", default="auto", metavar="ADDRESS", help="HOST:PORT, ray://HOST:PORT, auto (what RAY_ADDRESS names), local")
    add("--db", required=True, metavar="PATH|URL", help="where all that is found goes")
    add("--target", dest="targets", action="append", metavar="TARGET", help="repeatable; else each worker's own machine")
    add("--parts", type=int, default=1, metavar="N", help="tasks for each model and target (1)")
    add("--cpus", type=float, default=1, metavar="N", help="of a task (1); to measure, all that a machine has")
    own, rest = (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, [])
    arguments = parser.parse_args(own)
    arguments.rest, arguments.targets = rest, arguments.targets or ["host"]
    if not 1 <= arguments.parts <= 100000 or arguments.cpus < 0:
        parser.error("--parts is from 1 to 100000, and --cpus at least 0")
    return arguments


def main(words: list[str] | None = None) -> int:
    """Options behind `--` go to every `fathom tune`."""
    arguments = parse(sys.argv[1:] if words is None else words)
    try:
        files = {model: files_of(model) for model in arguments.models}
        arguments.database = Database(arguments.db)
        arguments.database.open()
        ray = connect(arguments.ray)
        try:
            failed = gather(ray, submit(ray, arguments, files), arguments.database)
        finally:
            ray.shutdown()
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted: what came in so far is in the database", file=sys.stderr)
        return 130
    if failed:
        print(f"error: [F5001] {failed} tasks failed; the others are in the database", file=sys.stderr)
    return 5 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
