"""The one exception of the package. Its codes are those of the command line; docs/user/errors.md explains them."""

from __future__ import annotations


class Error(Exception):
    """What went wrong, with a stable code ("F1003") and the exit code that the command line would give."""

    def __init__(self, message: str, code: str, exit_code: int, node: str = "", hint: str = "", diagnostics=()):
        text = f"[{code}] " + (f"node '{node}': " if node else "") + message
        super().__init__(text + (f"\nhint: {hint}" if hint else ""))
        self.message = message
        self.code = code
        self.exit_code = exit_code
        self.node = node
        self.hint = hint
        # Everything the compiler had to say, as dictionaries.
        self.diagnostics = list(diagnostics)

    def __reduce__(self):
        return (Error, (self.message, self.code, self.exit_code, self.node, self.hint, self.diagnostics))


# fathom_code of runtime/fathom_rt.h to code and exit code.
_STATUS = {
    1: ("F1012", 1),  # invalid argument
    2: ("F1001", 1),  # file
    3: ("F1011", 1),  # format
    4: ("F5001", 5),  # unsupported CPU
    5: ("F1012", 1),  # shape
    6: ("F1012", 1),  # index
    7: ("F5001", 5),  # memory
}
INDEX_STATUS = 6


def raise_status(status: int, message: str):
    """Raises the error for a status of the runtime; called by the extension module."""
    code, exit_code = _STATUS.get(status, ("F7001", 70))
    error = Error(message, code, exit_code)
    error.status = status
    raise error


def raise_diagnostics(diagnostics: list[dict], worst: int):
    """Raises the error for a compilation that failed."""
    chosen = diagnostics[worst]
    raise Error(
        chosen["message"], chosen["code"], chosen["exit_code"], chosen["node"], "; ".join(chosen["hints"]), diagnostics
    )
