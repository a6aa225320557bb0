"""Fourier transforms of known lengths, in one product or two, against NumPy in double precision."""
import re

import numpy as np
import pytest

import fathom
from support.models import FLOAT, floats, model, node

# A prime, small and large factors, powers of two, and lengths that audio has.
LENGTHS = [97, 2 * 89, 400, 4096]


def spectrum(values):
    return np.stack([values.real, values.imag], -1)


def run(proto, feeds):
    """The result, which is the same with one thread and two."""
    artifact = fathom.compile(proto)
    one, two = (fathom.Session(artifact, threads=threads).run(None, feeds)[0] for threads in (1, 2))
    assert one.tobytes() == two.tobytes()
    return one


def close(got, want):
    """Within a few roundings of the largest number, as transforms are."""
    assert got.shape == want.shape
    assert np.abs(got - want).max(initial=0) <= 4e-6 * max(np.abs(want).max(initial=0), 1e-30)


def dft(x, **attributes):
    length = attributes.pop("length", None)
    constants = {"axis": np.array(-2)} | ({"n": np.array(length)} if length else {})
    proto = model([node("DFT", ["x", "n" if length else "", "axis"], "y", **attributes)], [("x", FLOAT, x.shape)], [("y", FLOAT)], constants, opset=20)
    return run(proto, {"x": x})


@pytest.mark.parametrize("length", LENGTHS)
def test_of_known_length(length, random):
    real, imaginary = floats(random, 3, length), floats(random, 3, length)
    pairs, numbers = np.stack([real, imaginary], -1), real.astype(np.float64) + 1j * imaginary
    close(dft(real[..., None], onesided=1), spectrum(np.fft.rfft(real.astype(np.float64))))
    close(dft(real[..., None]), spectrum(np.fft.fft(real.astype(np.float64))))
    close(dft(pairs), spectrum(np.fft.fft(numbers)))
    close(dft(pairs, inverse=1), spectrum(np.fft.ifft(numbers)))


@pytest.mark.parametrize("have, length", [(300, 400), (150, 400), (600, 1024), (513, 1025)])
def test_cut_and_filled(have, length, random):
    real, imaginary = floats(random, 2, have), floats(random, 2, have)
    pairs, numbers = np.stack([real, imaginary], -1), real.astype(np.float64) + 1j * imaginary
    close(dft(pairs, length=length), spectrum(np.fft.fft(numbers, length)))
    close(dft(pairs, length=length, inverse=1, onesided=1)[..., 0], np.fft.irfft(numbers, length))
    close(dft(real[..., None], length=length, inverse=1, onesided=1)[..., 0], np.fft.irfft(real.astype(np.float64), length))


@pytest.mark.parametrize("length", [400, 1024])
def test_along_another_axis(length, random):
    x = floats(random, 2, length, 3, 1)
    proto = model([node("DFT", ["x", "", "axis"], "y", onesided=1)], [("x", FLOAT, x.shape)], [("y", FLOAT)], {"axis": np.array(1)}, opset=20)
    close(run(proto, {"x": x}), spectrum(np.fft.rfft(x[..., 0].astype(np.float64), axis=1)))


def stft(length, step, onesided, shape, window):
    constants = {"step": np.array(step), "n": np.array(length)} | ({"w": window} if window is not None else {})
    inputs = ["x", "step", "w" if window is not None else "", "n"]
    return model([node("STFT", inputs, "y", onesided=onesided)], [("x", FLOAT, shape)], [("y", FLOAT)], constants)


def frames(x, length, step, window):
    count = 1 + (x.shape[1] - length) // step
    cut = np.stack([x[:, i * step : i * step + length] for i in range(count)], 1).astype(np.float64)
    return cut * (1 if window is None else window)


@pytest.mark.parametrize("onesided, windowed", [(1, True), (1, False), (0, True)])
@pytest.mark.parametrize("length, step", [(400, 160), (2048, 700)])
def test_short_time(length, step, onesided, windowed, random):
    """One artifact for signals of any number and length."""
    window = floats(random, length) if windowed else None
    artifact = fathom.compile(stft(length, step, onesided, ["b", "l", 1], window))
    for batch, samples in [(1, length), (2, 5000), (3, length + step - 1)]:
        x = floats(random, batch, samples, 1)
        want = np.fft.fft(frames(x[..., 0], length, step, window))[..., : length // 2 + 1 if onesided else length]
        for threads in (1, 2):
            close(fathom.Session(artifact, threads=threads).run(None, {"x": x})[0], spectrum(want))


def test_short_time_of_complex_numbers(random):
    x, window = floats(random, 2, 3000, 2), floats(random, 512)
    parts = [np.fft.fft(frames(x[..., p], 512, 128, window)) for p in (0, 1)]
    close(run(stft(512, 128, 0, x.shape, window), {"x": x}), spectrum(parts[0] + 1j * parts[1]))


@pytest.mark.parametrize("length", [1024, 4096])
def test_tables_are_small(length):
    """Two small matrices: the artifact's weights grow with the length, not with its square."""
    proto = stft(length, length // 4, 1, [1, "l", 1], np.hanning(length).astype(np.float32))
    assert fathom.compile(proto).report["weight_bytes"] < 400 * length
    text = fathom.compile(proto, emit="plan")
    assert len(re.findall(r"class: +contract", text)) == 2
