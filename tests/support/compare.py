"""One comparison of results with a reference's: as many outputs of the same shapes and types, the same bits with one thread and with two,
as near as the table says (tolerances), from inputs whose change changes the outputs."""
import numpy as np
import onnxruntime
from onnx import helper

import fathom
from support import tolerances
from support.bounds import assert_within
from support.models import model_of


def reference(proto):
    """Runs a model by ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def run(artifact, inputs, threads=(1, 2)):
    """The outputs of an artifact, the same bits whatever the number of threads."""
    first, *others = (fathom.Session(artifact, threads=count).run(None, inputs) for count in threads)
    for other in others:
        assert_same_bits(first, other)
    return first


def assert_same_bits(one, two):
    for got, other in zip(one, two, strict=True):
        assert got.shape == other.shape and got.tobytes() == other.tobytes(), "results depend on the thread count"


def assert_close(got, want, family, what="", data=0.0):
    """Of the same shape and type (a reference may be in double precision), NaN and infinities at the same places, integers and strings
    equal, and all others as near as the family's multiple of epsilon says; `data` is the magnitude of what they were computed from."""
    want = np.asarray(want)
    assert got.shape == want.shape, f"{what} has shape {got.shape}, not {want.shape}"
    if not tolerances.is_float(got.dtype):
        assert got.dtype == want.dtype, f"{what} has type {got.dtype}, not {want.dtype}"
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    assert got.dtype == want.dtype or want.dtype == np.float64, f"{what} has type {got.dtype}, not {want.dtype}"
    finite = np.isfinite(want.astype(np.float64))
    np.testing.assert_array_equal(got[~finite].astype(np.float64), want[~finite].astype(np.float64), err_msg=what)
    gap = np.abs(np.where(finite, got, 0).astype(np.float64) - np.where(finite, want, 0).astype(np.float64))
    allowed = tolerances.allowed(np.abs(np.where(finite, want, 0).astype(np.float64)), family, got.dtype, data)
    if (gap <= allowed).all():
        return
    excess = gap / np.maximum(allowed, np.finfo(np.float64).tiny)
    worst = np.unravel_index(excess.argmax(), excess.shape)
    raise AssertionError(f"{what} at {worst}: {got[worst]} instead of {want[worst]}, {excess[worst]:.2f} times the tolerance of {family}")


def other_inputs(inputs, scale):
    """Different numbers of the same kind: floats change, integers, which may be indices or sizes, only where there is nothing else."""
    floats = any(array.dtype.kind == "f" for array in inputs.values())

    def other(array):
        if array.dtype.kind == "f":
            return np.asarray(array * scale + 0.3, array.dtype)
        return array if floats else np.flip(array).copy() if array.ndim else np.asarray(array + 1)

    return {name: other(array) for name, array in inputs.items()}


def assert_inputs_matter(run, inputs, expected, allowed):
    """A comparison that the outputs of any input would pass shows nothing: those of another input differ by more than is allowed."""
    if not any(want.size for want in expected) or not any(array.size for array in inputs.values()):
        return

    def is_apart(got, want):
        return got.shape != want.shape or bool((np.abs(got.astype(np.float64) - want.astype(np.float64)) > allowed(want)).any())

    # Some may be of no effect: a ReLU can leave nothing of several in a row.
    scales = (-0.7, -5, 5, -50, 50)
    apart = (any(is_apart(got, want) for got, want in zip(run(other_inputs(inputs, scale)), expected, strict=True)) for scale in scales)
    assert any(apart), "six inputs give outputs that the tolerance cannot tell apart"


def unreached(node, inputs, weights):
    """Whether all results of a convolution lie where no tap of its window meets the image: then no input matters."""
    ones = {name: np.ones_like(array) for name, array in (inputs | weights).items() if name in ("x", "w")}
    bare = helper.make_node(node.op_type, ["x", "w"], ["y"])
    bare.attribute.extend(node.attribute)
    [reached] = reference(model_of([bare], ones, {}))(ones)
    return not reached.any()


def compare(nodes, inputs, weights, outputs=("y",), family=None, same_for_all_inputs=None, data=0.0, **options):
    """Runs the model of these nodes (support.models.model_of) and compares with ONNX Runtime. Another input gives outputs further apart than
    the tolerance, unless `same_for_all_inputs` says why not. Options are those of fathom.compile; the family is that of the nodes.

    A single product or convolution keeps its bounds, too. `data` is the magnitude of what cancels, where results do not show it: behind a ReLU.
    """
    model = model_of(nodes, inputs, weights, outputs)
    family = family or tolerances.family_of(model)
    theirs = reference(model)
    expected = theirs(inputs)
    results = run(fathom.compile(model, **options), inputs)
    for got, want in zip(results, expected, strict=True):
        assert got.dtype == want.dtype
        assert_close(got, want, family, data=data)
    if len(nodes) == 1 and nodes[0].op_type in ("MatMul", "Gemm", "Conv") and "plan" not in options:
        assert_within(results[0], nodes[0], [(inputs | weights)[name] for name in nodes[0].input], **options)
    if not same_for_all_inputs:
        assert_inputs_matter(theirs, inputs, expected, lambda want: tolerances.allowed(np.abs(want), family, want.dtype, data))


def agree(proto, feeds, family=None, theirs=None, **options):
    """Compiles once and compares every run with ONNX Runtime, or another reference. Two of the runs must differ, or the comparison would say
    little. Options are those of fathom.compile; the family is that of the model. Data are of the magnitude of 1."""
    family, theirs = family or tolerances.family_of(proto, most="product"), theirs or reference(proto)
    artifact = fathom.compile(proto, **options)
    one, two = fathom.Session(artifact, threads=1), fathom.Session(artifact, threads=2)
    seen = set()
    for feed in feeds:
        got = one.run(None, feed)
        assert_same_bits(got, two.run(None, feed))
        for x, want in zip(got, theirs(feed), strict=True):
            assert x.dtype == np.asarray(want).dtype
            assert_close(x, want, family, data=1.0)
        seen.add(b"".join(x.tobytes() + repr(x.shape).encode() for x in got))
    assert len(seen) > 1, "all inputs give the same outputs"
