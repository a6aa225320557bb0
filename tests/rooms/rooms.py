"""Checks the order of the compiler's rooms (compiler/rooms.txt): no include runs down the list, and every folder is in it.

    python tests/rooms/rooms.py [ROOT]

Prints each include that breaks the order, and each folder that is not listed.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include "compiler/([^"]+)"', re.MULTILINE)


def rooms(root):
    """Room to its place in the list."""
    lines = (root / "compiler" / "rooms.txt").read_text().splitlines()
    return {line.split()[0]: place for place, line in enumerate(line for line in lines if line.strip() and not line.startswith("#"))}


def sources(root):
    return sorted(p for p in (root / "compiler").rglob("*") if p.suffix in (".cpp", ".h"))


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


def main():
    found = list(problems(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
