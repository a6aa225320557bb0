"""Random inputs, the same ones that `fathom run` makes for a seed (tools/fathom/run/Inputs.cpp)."""

from __future__ import annotations

import math
import operator

import numpy as np

from .errors import Error
from .files import read_array
from .sequences import as_array

_MASK = (1 << 64) - 1


def _splitmix64(seed: int, index: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        x = np.uint64(seed) + (index.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def _normal(seed: int, count: int) -> np.ndarray:
    index = np.arange(count, dtype=np.uint64) * np.uint64(3)
    total = np.zeros(count, dtype=np.int64)
    for draw in range(3):
        bits = _splitmix64(seed, index + np.uint64(draw))
        for part in range(4):
            total += ((bits >> np.uint64(16 * part)) & np.uint64(0xFFFF)).astype(np.int64)
    return (total - 6 * 65535) / 65536.0


def _evaluate(value, sizes: dict) -> int:
    """A number of the manifest, or an expression over symbolic dimensions in prefix form, such as ["*", 2, "batch"]."""
    if isinstance(value, str):
        return sizes[value]
    if not isinstance(value, list):
        return value
    sign, x, y = value[0], _evaluate(value[1], sizes), _evaluate(value[2], sizes)
    operations = {"+": lambda: x + y, "*": lambda: x * y, "mod": lambda: x % y, "floordiv": lambda: x // y}
    return operations[sign]() if sign in operations else -(-x // y)


def _declared_range(ranges: list, sizes: dict) -> tuple[int, int] | None:
    """What the model says of an input's integers: the least, and how many there are from there on."""
    if not ranges:
        return None
    ends = [[_evaluate(end, sizes) for end in pair] for pair in ranges]
    low, high = max(low for low, _ in ends), min(high for _, high in ends)
    return low, max(1, high - low + 1)


def _integer_bound(info, bound: int) -> int:
    """How many integers to draw from where the model does not say; 0: all of the type."""
    if info.dtype == np.bool_:
        return 2
    if info.dtype.itemsize == 1:
        return 0
    if "mask" in info.name or "token_type" in info.name:
        return min(bound, 2)
    return bound


def _guessed_range(info, bound: int, ones: bool) -> tuple[int, int]:
    if ones and info.dtype.kind in "iu" and info.dtype.itemsize > 1 and "mask" in info.name:
        return 1, 1
    return 0, _integer_bound(info, bound)


def _random(info, dims, seed: int, integers: tuple[int, int], strings: list[str]) -> np.ndarray:
    count = int(np.prod(dims, dtype=np.int64))
    if info.dtype.kind not in "biuO":
        return _normal(seed, count).astype(info.dtype).reshape(dims)
    bits = _splitmix64(seed, np.arange(count, dtype=np.uint64)) >> np.uint64(32)
    if info.dtype == object:
        chosen = np.empty(count, object)
        chosen[:] = [strings[draw] for draw in (bits % np.uint64(len(strings))).tolist()]
        return chosen.reshape(dims)
    low, number = integers
    if number:
        bits = bits % np.uint64(number)
    with np.errstate(over="ignore"):
        bits = bits + np.uint64(low & _MASK)
    return bits.astype(f"u{info.dtype.itemsize}").view(info.dtype).reshape(dims)


def _random_value(found, sizes: dict, seed: int, integers: tuple[int, int], strings: list[str]):
    """An array, or a list of arrays of one value each; what is optional is there."""
    info = found.info
    if not found.is_sequence:
        shape = [sizes.get(size, 1) if not isinstance(size, int) else size for size in info.shape]
        return _random(info, shape, seed, integers, strings)
    rank = len(info.shape) if info.shape is not None else sizes.get(f"{info.name}.rank", 1)
    data = _random(info, [sizes.get(f"{info.name}.length", 1)], seed, integers, strings)
    return [value.reshape([1] * rank) for value in data]


def _sizes(session, dims: dict, given: dict) -> tuple[dict, list]:
    """The size of every symbolic dimension, and those that nobody gave: that of a given input, what the caller says,
    what the model was compiled to be good at, or the least from 1 on."""
    likely = {symbol["name"]: symbol.get("likely") for symbol in session.manifest.get("symbols", [])}
    sizes = {name: likely.get(name) or min(max(1, low), high) for name, low, high in session.symbols}
    taken = {}
    for info in session.inputs:
        if info.name in given and info.kind in ("tensor", "optional") and given[info.name] is not None:
            shape = given[info.name].shape
            taken |= {name: size for name, size in zip(info.shape, shape) if isinstance(name, str)}
    for name, size in dims.items():
        if name not in sizes:
            known = ", ".join(f"'{symbol}'" for symbol in sizes)
            hint = f"it has {known}" if known else "all its dimensions are fixed"
            raise Error(f"the model has no symbolic dimension '{name}'", "F1012", 1, hint=hint)
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            hint = f"a range to compile for is dim={{'{name}': (MIN, MAX)}}"
            raise Error(f"dimension '{name}' of a run has one size, a whole number, not {size!r}", "F2001", 2, hint=hint)
        if taken.get(name, size) != size:
            raise Error(f"dimension '{name}' is {size}, and {taken[name]} in a given input", "F1012", 1)
        sizes[name] = operator.index(size)
    return sizes | taken, [symbol for symbol in session.symbols if symbol[0] not in dims and symbol[0] not in taken]


def _checked(session, given: dict) -> dict:
    """Given values as they go into a run; each must be of the model's type and rank."""
    infos = {info.name: info for info in session.inputs}
    if unknown := given.keys() - infos.keys():
        names = ", ".join(f"'{name}'" for name in infos)
        raise Error(f"the model has no input '{min(unknown)}'", "F1012", 1, hint=f"its inputs are {names}")
    return {
        name: value if value is None or "sequence" in infos[name].kind else as_array(value, name, infos[name])
        for name, value in given.items()
    }


def _sizes_fault(session, sizes: dict, given: dict) -> Error | None:
    """What the model says of inputs of these sizes before it runs; None where they go together or nobody can tell."""
    if any(found.info.kind != "tensor" for found in session.groups):
        return None
    shapes = [
        given[info.name].shape
        if info.name in given
        else tuple(sizes.get(size, 1) if isinstance(size, str) else size for size in info.shape)
        for info in session.inputs
    ]
    if sum(math.prod(shape) for shape in shapes) > 1 << 26:
        return Error("too many elements", "F1012", 1)
    try:
        session.output_shapes(shapes)
    except Error as error:
        if error.code != "F1012":
            raise
        return error
    return None


def _equal_sizes(session, sizes: dict, free: list, given: dict) -> dict | None:
    """One size for all that nobody gave and that do not only count what lies along the first axis: for windows and
    patches."""
    others = {name for info in session.inputs for name in (info.shape or ())[1:]}
    for size in range(2, 257):
        more = {name: min(max(size, low), high) for name, low, high in free if name in others}
        if not _sizes_fault(session, sizes | more, given):
            return sizes | more
    return None


def random_inputs(session, seed: int = 0, dims: dict | None = None, given: dict | None = None) -> dict:
    """Inputs for a session: floating-point ones nearly normal, integers within what the model can take.

    `given` has values for some of the inputs, by name.
    """
    known = _checked(session, given or {})
    values = dict(known)
    sizes, free = _sizes(session, dims or {}, known)
    fault = _sizes_fault(session, sizes, known) if free else None
    groups = [found for found in session.groups if found.info.name not in values]
    integers = (np.int32, np.int64)
    # Some that the model knows.
    strings = session.manifest.get("strings") or [""]

    def declared(found, sizes):
        ranges = session.manifest["inputs"][found.parts["data" if found.is_sequence else "value"]].get("values")
        return _declared_range(ranges, sizes)

    guesses = any(f.info.kind == "tensor" and f.info.dtype in integers and not declared(f, sizes) for f in groups)
    tries = guesses or len(free) > 1 or fault is not None

    def fill(sizes, ones=False, tries=tries) -> bool:
        """Whether the sizes go together, as far as a run was tried."""
        for bound in (100, 2, 1):
            for found in groups:
                info = found.info
                # The seed goes with the tensor's number in the artifact.
                number = found.parts["data" if found.is_sequence else "value"]
                key = int(_splitmix64(seed & _MASK, np.array([number]))[0])
                drawn = declared(found, sizes) or _guessed_range(info, bound, ones)
                values[info.name] = _random_value(found, sizes, key, drawn, strings)
            if not tries:
                return True
            # Where the model does not say which integers it takes, they must be small enough for what they select
            # from, which only a run can tell.
            try:
                session.run(None, values)
                return True
            except Error as error:
                if error.code != "F1012":
                    raise
                if not getattr(error, "index_out_of_range", False):
                    return False
        return True

    # Nor does it say which sizes go together: as in tools/fathom/run/Inputs.cpp.
    changes = [{}] + [
        {name: sizes[name] + more} for more in (1, 2, 3) for name, _, high in free if sizes[name] + more <= high
    ]
    if not fill(sizes) and not any(fill(sizes | change, ones=True) for change in changes):
        if fault:
            if (equal := _equal_sizes(session, sizes, free, known)) and fill(equal, ones=True):
                return values
            words = " ".join(f"--dim {name}=SIZE" for name, _, _ in session.symbols)
            raise Error(fault.message, fault.code, 1, fault.node, f"say sizes that go together: {words}")
        # The run says what is wrong with the usual ones.
        fill(sizes, tries=False)
    return values


def read_inputs(session, texts: list[str]) -> dict:
    """Inputs from files: NAME=@FILE.npy for each tensor of the artifact, as `fathom run` takes them."""
    arrays = {}
    for text in texts:
        name, _, path = text.partition("=@")
        if not name or not path:
            raise Error(f"--input {text} is not NAME=@FILE.npy", "F2001", 2)
        if name in arrays:
            raise Error(f"input '{name}' is given twice", "F1012", 1)
        arrays[name] = read_array(path)
    return session.assemble(arrays)
