"""Whole networks against ONNX Runtime: right, the same bits whatever the threads, and a Plan that says everything.

Every model is filled with seeded weights once (build/models) and compiled twice: as it is, and from the plan that its first
compilation printed. FATHOM_MODELS=resnet18,vgg16 picks models, FATHOM_TEST_PART=N one in N, others with every seed;
FATHOM_BUILD names the build folder.
"""
import os
import random
import re

import numpy as np
import onnxruntime
import pytest
from fathom_runtime import Context, Runtime
from support import tolerances
from support.compare import assert_close
from support.tool import BUILD, FILLED, fathom, fill, run_tool

SEEDS = (0, 1, 2)

MODELS = """resnet18 resnet34 resnet50 vgg16 alexnet googlenet densenet161 mobilenet_v2 mobilenet_v2.dynamic_batch
mobilenet_v2.train_bn mnasnet1_0 efficientnet_b0 wrn_40_2_s wrn_40_2_g2 wrn_40_2_g4 wrn_40_2_g8 wrn_40_2_g16 wrn_40_2_gn
bert_base_128 vit_b_16 efficientnet_b4 mobilebert_128 mobilebert_256 resnet50.dynamo lstm_2x512 gru_2x512""".split()
MODELS = os.environ["FATHOM_MODELS"].split(",") if os.environ.get("FATHOM_MODELS") else MODELS


def some(cases):
    size = -(-len(cases) // int(os.environ.get("FATHOM_TEST_PART", 1)))
    return random.Random(int(os.environ.get("FATHOM_TEST_SEED", 0))).sample(cases, size)


# Convolutions with and without groups, of single channels, of 1 x 1 and 7 x 7; the other models differ in sizes only.
CONVOLUTIONAL = "resnet18 mobilenet_v2 wrn_40_2_g8".split()
ALGORITHMS = "contract direct gemm spatial_pack grouped_spatial_pack winograd2 winograd4 strassen".split()


class Model:
    def __init__(self, name, folder, *options):
        self.name, self.folder = name, folder
        self.onnx = FILLED / f"{name}.onnx"
        self.artifact = folder / "model.fathom"
        fathom("compile", self.onnx, "-o", self.artifact, *options)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = os.cpu_count()
        self.reference = onnxruntime.InferenceSession(str(self.onnx), options, providers=["CPUExecutionProvider"])
        self.is_dynamic = any(isinstance(d, str) for i in self.reference.get_inputs() for d in i.shape)

    def inputs(self, seed, batch=1):
        rng = np.random.default_rng(seed)
        arrays = []
        for info in self.reference.get_inputs():
            shape = [d if isinstance(d, int) else batch for d in info.shape]
            if "mask" in info.name:  # padding at the end, as of a shorter text
                mask = np.ones(shape, np.int64)
                mask[:, shape[1] - 5 * seed :] = 0
                arrays.append(mask)
            elif info.type == "tensor(int64)":
                arrays.append(rng.integers(0, 1000, shape))
            else:
                arrays.append(rng.standard_normal(shape, np.float32))
        return arrays

    def expected(self, inputs):
        names = [info.name for info in self.reference.get_inputs()]
        return self.reference.run(None, dict(zip(names, inputs, strict=True)))


@pytest.fixture(scope="module")
def runtime():
    return Runtime(BUILD / "lib" / "libfathom_rt.so")


@pytest.fixture(scope="module", params=some(MODELS))
def model(request, tmp_path_factory):
    fill(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    yield Model(request.param, folder)
    for file in folder.iterdir():  # artifacts are as large as their weights
        file.unlink()


def test_results(model, runtime):
    """As ONNX Runtime's on three seeds, and the same bits in every run with one thread and with two."""
    batches = (1, 2, 5) if model.is_dynamic else (1,)
    with Context(runtime, model.artifact, 1) as one, Context(runtime, model.artifact, 2) as two:
        for batch in batches:
            references = []
            for seed in SEEDS:
                inputs = model.inputs(seed, batch)
                expected = model.expected(inputs)
                outputs = one.run(inputs, expected)
                for got, want in zip(outputs, expected, strict=True):
                    assert_close(got, want, "network", f"seed {seed}, batch {batch}")
                for again in (one.run(inputs, expected), two.run(inputs, expected), two.run(inputs, expected)):
                    for first, other in zip(outputs, again, strict=True):
                        assert first.tobytes() == other.tobytes(), f"seed {seed}, batch {batch}: other bits in another run"
                references.append(expected)
            # A comparison that any output would pass shows nothing.
            for a, b in zip(references[0], references[1], strict=True):
                assert (np.abs(a - b) / tolerances.allowed(np.abs(a), "network", a.dtype)).max() >= 5, "two seeds give outputs that the tolerance cannot tell apart"


@pytest.mark.parametrize("name, algorithm", some([(name, algorithm) for name in CONVOLUTIONAL if name in MODELS for algorithm in ALGORITHMS]))
def test_every_algorithm_forced(name, algorithm, runtime, tmp_path):
    fill(name)
    model = Model(name, tmp_path, "--conv-algorithm", algorithm, "--max-weight-growth", "400", "--fp", "fastest")
    test_results(model, runtime)
    model.artifact.unlink()


def test_plan_round_trip(model):
    """From its own plan comes the same artifact, byte for byte; thus also two compilations give the same."""
    plan, again = model.folder / "plan", model.folder / "again.fathom"
    fathom("compile", model.onnx, "--emit", "plan", "-o", plan)
    fathom("compile", model.onnx, "--plan", plan, "-o", again)
    assert same_bytes(model.artifact, again)
    plan_again = fathom("compile", model.onnx, "--plan", plan, "--emit", "plan")
    assert plan_again == plan.read_text()


def same_bytes(a, b):
    if a.stat().st_size != b.stat().st_size:
        return False
    return (np.memmap(a, np.uint8, "r") == np.memmap(b, np.uint8, "r")).all()


@pytest.mark.parametrize("target", ["neoverse-v1", "x86-64-v3"])
def test_changed_plan(tmp_path, target):
    """A tile size in the plan's text changes the code; one that breaks a constraint is refused, and the refusal says which."""
    fill("wrn_40_2_s")
    onnx, plan = FILLED / "wrn_40_2_s.onnx", tmp_path / "plan"
    text = fathom("compile", onnx, "--target", target, "--emit", "plan")
    tile = re.search(r"^      tile_m: +(\d+)$", text, re.MULTILINE)
    assert tile, text[:2000]

    def with_tile(rows):
        plan.write_text(text[: tile.start(1)] + str(rows) + text[tile.end(1) :])
        return plan

    original = fathom("compile", onnx, "--target", target, "--emit", "asm")
    changed = fathom("compile", onnx, "--target", target, "--plan", with_tile(1), "--emit", "asm")
    assert int(tile[1]) != 1 and changed != original
    run_tool("compile", onnx, "--target", target, "--plan", with_tile(32), "--emit", "asm").expect(1, "[F1009]", "registers")
