"""Checks the order of the compiler's rooms (compiler/rooms.txt): no include runs down the list, every folder is in it, code generation asks no model
of costs, and nobody but their list includes files of a back end.

    python tests/rooms/rooms.py [ROOT]

Prints each include that breaks a rule, and each folder that is not listed.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include "compiler/([^"]+)"', re.MULTILINE)


# Code generation decides nothing: it asks no model of costs.
UNINFORMED, MODELS = "codegen/", "cost"

# The one file outside of a back end that knows it by name.
BACKENDS = "compiler/driver/Backends.cpp"


def listed(root):
    lines = (root / "compiler" / "rooms.txt").read_text().splitlines()
    return [line.split() for line in lines if line.strip() and not line.startswith("#")]


def rooms(root):
    """Room to its place in the list."""
    return {words[0]: place for place, words in enumerate(listed(root))}


def backends(root):
    return {words[0] for words in listed(root) if words[1] == "*"}


def sources(root, *folders):
    return sorted(p for folder in folders or ["compiler"] for p in (root / folder).rglob("*") if p.suffix in (".cpp", ".h"))


def problems(root):
    order = rooms(root)
    files = [(p, p.relative_to(root / "compiler")) for p in sources(root)]
    for folder in sorted({relative.parent.as_posix() for _, relative in files} - order.keys() - {"."}):
        yield f"compiler/{folder}: not in compiler/rooms.txt"
    for path, relative in files:
        here = order.get(relative.parent.as_posix())
        for included in INCLUDE.findall(path.read_text()):
            there = order.get(pathlib.PurePosixPath(included).parent.as_posix())
            if here is not None and there is not None and there > here:
                yield f"compiler/{relative}: includes {included}, which is behind it in compiler/rooms.txt"
            if relative.as_posix().startswith(UNINFORMED) and pathlib.PurePosixPath(included).parent.as_posix() == MODELS:
                yield f"compiler/{relative}: includes {included}, but code generation decides nothing"
    private = backends(root)
    for path in sources(root, "compiler", "tools", "python"):
        relative = path.relative_to(root)
        for included in INCLUDE.findall(path.read_text()):
            room = pathlib.PurePosixPath(included).parent.as_posix()
            if room in private and relative.parent.as_posix() != f"compiler/{room}" and relative.as_posix() != BACKENDS:
                yield f"{relative}: includes {included} of a back end, which only {BACKENDS} knows"


def main():
    found = list(problems(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
