"""Element types, sizes and random data of generated models."""
import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BFLOAT16]
SIGNED = [np.dtype(t) for t in (np.int64, np.int32, np.int16, np.int8)]
UNSIGNED = [np.dtype(t) for t in (np.uint64, np.uint32, np.uint16, np.uint8)]
BOOL = np.dtype(np.bool_)
ALL_TYPES = FLOATS + SIGNED + UNSIGNED + [BOOL]
# How often a type is the one that a graph is mostly made of.
MAIN_TYPES = {FLOATS[0]: 12, FLOATS[1]: 2, FLOATS[2]: 2, BFLOAT16: 2, SIGNED[0]: 3, SIGNED[1]: 2, SIGNED[2]: 1, SIGNED[3]: 1,
              UNSIGNED[0]: 1, UNSIGNED[1]: 1, UNSIGNED[2]: 1, UNSIGNED[3]: 2, BOOL: 1}
HALVES = {np.dtype(np.float16), BFLOAT16}
# Nothing, one, primes around the widths of vectors and register tiles, and a few that divide.
SIZES = [0] + [1] * 6 + [2] * 6 + [3] * 6 + [4] * 3 + [5] * 5 + [7] * 4 + [8] * 2 + [11, 13, 13, 16, 17, 19, 23, 31, 37]
MOST_ELEMENTS = 6000


def is_float(dtype):
    return np.dtype(dtype) in FLOATS


def onnx_type(dtype):
    return TensorProto.BFLOAT16 if np.dtype(dtype) == BFLOAT16 else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def numpy_type(number):
    return BFLOAT16 if number == TensorProto.BFLOAT16 else np.dtype(helper.tensor_dtype_to_np_dtype(number))


def type_named(text):
    """The type that a schema calls tensor(...), or None where generated models have none of it."""
    names = {"float": "float32", "double": "float64"}
    inner = text.removeprefix("tensor(").removesuffix(")")
    inner = names.get(inner, inner)
    for dtype in ALL_TYPES:
        if dtype.name == inner:
            return dtype
    return None


def epsilon(dtype):
    return float(ml_dtypes.finfo(dtype).eps)


def finite(array):
    return not is_float(array.dtype) or bool(np.isfinite(array.astype(np.float64)).all())


def random_array(random, dtype, shape, low=None, high=None, special=False):
    """Numbers of a range, or such as a network has: most near 1, a few large; special ones among them where asked for."""
    dtype, shape = np.dtype(dtype), tuple(shape)
    if dtype == BOOL:
        return random.integers(0, 2, shape).astype(bool)
    if not is_float(dtype):
        info = np.iinfo(dtype)
        small = (max(info.min, -9), min(info.max, 9)) if random.integers(4) else (max(info.min, -100), min(info.max, 100))
        low, high = small[0] if low is None else max(low, info.min), small[1] if high is None else min(high, info.max)
        array = random.integers(low, high, shape, dtype=np.int64, endpoint=True).astype(dtype)
        if special and array.size and low == small[0]:
            array.flat[random.integers(array.size)] = random.choice([info.min, info.max])
        return array
    if low is not None or high is not None:
        return random.uniform(-4 if low is None else low, 4 if high is None else high, shape).astype(dtype)
    array = random.standard_normal(shape) * float(random.choice([1, 1, 1, 0.1, 5]))
    array = array.astype(dtype)
    if special and array.size:
        for _ in range(1 + random.integers(3)):
            array.flat[random.integers(array.size)] = random.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, float(ml_dtypes.finfo(dtype).max), float(ml_dtypes.finfo(dtype).tiny)])
    return array
