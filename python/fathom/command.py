"""What commands of the tool that are carried out in Python share: how they tell their results, and how they fail."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from typing import Callable

from .errors import Error, printable


def print_result(result: dict, as_json: bool, print_for_people: Callable):
    try:
        if as_json:
            print(json.dumps({"schema_version": 1} | result))
        else:
            print_for_people(result)
        sys.stdout.flush()
    except OSError as error:
        # What is still in the buffer must not be tried again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Error(f"cannot write to stdout: {error.strerror}", "F1014", 1) from error


def fail(text: str, exit_code: int) -> int:
    print(f"error: {text}", file=sys.stderr)
    return exit_code


def _print_error(error: Error):
    others = [
        d
        for d in error.diagnostics
        if d["severity"] == "error" and (d["code"], d["message"]) != (error.code, error.message)
    ]
    print(f"error: {error}", file=sys.stderr)
    for other in others:
        node = f"node '{other['node']}': " if other["node"] else ""
        print(printable(f"error: [{other['code']}] {node}{other['message']}"), file=sys.stderr)


def tell_errors(work: Callable[[], object]) -> int:
    """The exit code of a program that does this; what is wrong with what it was given is told."""
    try:
        work()
    except Error as error:
        _print_error(error)
        return error.exit_code
    return 0


def parse_dims(texts: list[str]) -> dict:
    """The values of --dim by the dimensions' names: sizes, or ranges as fathom.compile takes them."""
    dims = {}
    for text in texts:
        found = re.fullmatch(r"(.+?)=(\d+)(?:\.\.(\d+)(?:,opt=(\d+))?)?", text, re.A | re.S)
        if not found:
            raise Error(f"option --dim: '{text}' is not NAME=SIZE or NAME=MIN..MAX", "F2001", 2)
        sizes = tuple(int(size) for size in found.groups()[1:] if size)
        dims[found[1]] = sizes if len(sizes) > 1 else sizes[0]
    return dims


def run(command: str, main: Callable[[dict], int], request: str) -> int:
    """main() of a command's options as JSON, with every way to fail told in a line."""
    try:
        return main(json.loads(request))
    except Error as error:
        _print_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except MemoryError:
        return fail("[F5001] out of memory", 5)
    except Exception:
        traceback.print_exc()
        return fail(f"[F7001] fathom {command} failed; please report this with the model", 70)
