"""Declarations of signal processing and of random numbers."""
import numpy as np

from catalog import op
from values import FLOATS, onnx_type


for name in ("HannWindow", "HammingWindow", "BlackmanWindow"):

    @op(name)
    def window_function(g):
        size = g.given(0, np.array(g.integer(2, 17), g.choose([np.int64, np.int32])))
        g.node(size, periodic=g.integer(0, 1), output_datatype=onnx_type(g.choose(FLOATS[:2])) if g.chance(0.3) else None)


@op("MelWeightMatrix")
def mel_weights(g):
    numbers = [g.integer(2, 8), 2 ** g.integer(4, 6), 8192]
    g.node(*(g.given(k, np.array(n, np.int64), np.int64) for k, n in enumerate(numbers)), g.given(3, np.array(0, np.float32), np.float32),
           g.given(4, np.array(4096, np.float32), np.float32))


@op("DFT")
def dft(g):
    length = g.integer(1, 9)
    x = g.arg(0, shape=(g.integer(1, 3), length, 1 if g.chance(0.5) else 2), types=FLOATS[:2])
    one_sided = 1 if x.shape[-1] == 1 and g.chance(0.4) else None
    inverse = 1 if one_sided is None and g.chance(0.3) else None
    if g.takes("dft_length") and g.opset >= 20:
        g.node(x, None, g.given(2, np.array(1, np.int64)) if g.chance(0.5) else None, onesided=one_sided, inverse=inverse)
    else:
        g.node(x, onesided=one_sided, inverse=inverse)


@op("STFT")
def stft(g):
    frame = g.choose([2, 4, 5, 8])
    x = g.arg(0, shape=(g.integer(1, 2), frame + g.integer(0, 9), 1), types=FLOATS[:2])
    shape = g.arg(2, shape=(frame,), types=[x.dtype])
    g.node(x, g.given(1, np.array(g.integer(1, 4), np.int64), np.int64), shape, g.given(3, np.array(frame, np.int64), np.int64), onesided=g.integer(0, 1))


def hidden(g, value):
    """Numbers that nobody can foresee: only that they are numbers, and how many."""
    g.values.pop()
    g.node(value, op="IsNaN")


for name in ("RandomNormal", "RandomUniform"):

    @op(name, 0.5)
    def random(g):
        hidden(g, g.node(shape=list(g.shape((1, 3))), seed=1.0))


for name in ("RandomNormalLike", "RandomUniformLike"):

    @op(name, 0.5)
    def random_like(g):
        hidden(g, g.node(g.arg(0, types=FLOATS[:2]), seed=1.0))


@op("Bernoulli", 0.5)
def bernoulli(g):
    hidden(g, g.node(g.arg(0, low=0, high=1, types=FLOATS[:1]), seed=1.0))


@op("Multinomial", 0.5)
def multinomial(g):
    drawn = g.node(g.arg(0, rank=2, sizes=(1, None), types=FLOATS[:1]), sample_size=g.integer(1, 5), seed=1.0)
    g.values.pop()
    g.node(drawn, op="Shape")
