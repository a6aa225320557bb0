"""`python -m fathom` is the command line tool, with this interpreter for what needs Python."""

import os
import sys

from .errors import Error


def find_tool() -> str:
    """The tool given by FATHOM_BIN, inside the installed package, or in the build folder that the package lies in."""
    here = os.path.dirname(os.path.abspath(__file__))
    package = os.path.dirname(os.path.abspath(sys.modules["fathom"].__file__))
    for path in (
        os.environ.get("FATHOM_BIN"),
        os.path.join(here, "bin", "fathom"),
        os.path.join(package, "..", "..", "bin", "fathom"),
    ):
        if path and os.access(path, os.X_OK):
            return path
    raise Error("the tool 'fathom' is not there", "F1001", 1, hint="set FATHOM_BIN to it")


def main():
    try:
        tool = find_tool()
    except Error as error:
        sys.exit(f"error: {error}")
    os.environ.setdefault("FATHOM_PYTHON", sys.executable)
    os.execv(tool, [tool, *sys.argv[1:]])


if __name__ == "__main__":
    main()
