"""The one exception of the package. Its codes are those of the command line; docs/user/errors.md explains them."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text with control characters escaped: a name in a model must not steer the terminal or pose as a message."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Error(Exception):
    """What went wrong, with a stable code ("F1003") and the exit code that the command line would give."""

    def __init__(self, message: str, code: str, exit_code: int, node: str = "", hint: str = "", diagnostics=()):
        # What a run says names its nodes itself.
        is_named = f"'{node}'" in message
        text = f"[{code}] " + (f"node '{node}': " if node and not is_named else "") + message
        super().__init__(printable(text) + (f"\nhint: {printable(hint)}" if hint else ""))
        self.message = message
        self.code = code
        self.exit_code = exit_code
        self.node = node
        self.hint = hint
        # Everything the compiler had to say, as dictionaries.
        self.diagnostics = list(diagnostics)

    def __reduce__(self):
        return (Error, (self.message, self.code, self.exit_code, self.node, self.hint, self.diagnostics))


def without_nul(text):
    """The text, or a path, as it is: what has a NUL would be another one for the system."""
    if ("\0" if isinstance(text, str) else b"\0") in text:
        raise Error(f"{text!r} has a NUL character", "F2001", 2)
    return text


def status_error(number: int, message: str, node: str, index_out_of_range: bool) -> Error:
    """The error for a status of the runtime."""
    kind = number // 1000
    error = Error(message, f"F{number}", 70 if kind == 7 else kind, node)
    error.index_out_of_range = index_out_of_range
    return error


def raise_status(*status):
    """Raises it; called by the extension module."""
    raise status_error(*status)


def raise_diagnostics(diagnostics: list[dict], worst: int):
    """Raises the error for a compilation that failed."""
    chosen = diagnostics[worst]
    raise Error(
        chosen["message"], chosen["code"], chosen["exit_code"], chosen["node"], "; ".join(chosen["hints"]), diagnostics
    )
