"""Decoders with a cache against ONNX Runtime: the same tokens for 64 greedy steps, whether the cache is written in place
or grows."""

import pathlib
import sys

import numpy as np
import onnxruntime
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "models"), str(ROOT / "examples")]
import fathom
from generate import Generator
from make_decoder import make_decoder

STEPS = 64
PROMPTS = [[7], [3, 141, 592, 653, 589, 793, 238], list(range(100, 139))]


@pytest.fixture(scope="module", params=[0, 4, 8], ids=["float", "4bit", "8bit"])
def model(request):
    return make_decoder(request.param)


@pytest.fixture(scope="module")
def reference(model):
    """ONNX Runtime's logits (of the last position) for a prompt and the tokens it then chooses, and its last cache."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def run(prompt):
        return grow(lambda inputs: session.run(None, inputs), cache_names(session.get_inputs()), prompt)

    return run


def cache_names(inputs):
    return [info.name for info in inputs if info.name.startswith("past")]


def grow(run, names, prompt):
    """Greedy steps with a cache that every call returns longer."""
    cache = {name: np.zeros((1, 2, 0, 32), np.float32) for name in names}
    tokens, logits, length = list(prompt), [], 0
    new = list(prompt)
    while len(logits) < STEPS:
        length += len(new)
        inputs = {"input_ids": np.array([new]), "attention_mask": np.ones((1, length), np.int64), **cache}
        first, *present = run(inputs)
        cache = dict(zip(names, present, strict=True))
        logits.append(first[0, -1])
        new = [int(logits[-1].argmax())]
        tokens += new
    return tokens[len(prompt) :], np.array(logits), cache


def test_generates_in_place(model, reference):
    generator = Generator(model, max_length=128)
    assert len(generator.session.aliases) == 8
    for prompt in PROMPTS:
        tokens, logits, cache = reference(prompt)
        # Were all steps alike, equal tokens would show nothing.
        assert len(set(tokens)) > 8
        assert generator.generate(prompt, STEPS) == tokens
        length = len(prompt) + STEPS - 1
        assert generator.length == length
        for name, array in generator.past.items():
            np.testing.assert_allclose(array[:, :, :length], cache[name], rtol=1e-3, atol=1e-3)
            np.testing.assert_array_equal(array[:, :, max(map(len, PROMPTS)) + STEPS :], 0)


def test_growing_cache_gives_the_same(model, reference):
    dim = {"batch_size": 1, "past_sequence_length": (0, 127)}
    session = fathom.Session(fathom.compile(model, dim=dim))
    names = cache_names(session.inputs)
    for prompt in PROMPTS:
        tokens, logits, cache = reference(prompt)
        got_tokens, got_logits, got_cache = grow(lambda inputs: session.run(None, inputs), names, prompt)
        assert got_tokens == tokens
        np.testing.assert_allclose(got_logits, logits, rtol=1e-3, atol=1e-3)
        for name in names:
            np.testing.assert_allclose(got_cache[name], cache[name], rtol=1e-3, atol=1e-3)


def test_a_prompt_in_parts_gives_the_same(model, reference):
    """Several tokens at once behind a cache that is not empty."""
    generator = Generator(model, max_length=128)
    prompt = PROMPTS[2]
    generator.step(prompt[:5])
    generator.step(prompt[5:6])
    assert generator.step(prompt[6:]) == reference(prompt)[0][0]


def test_wrong_lengths_are_refused(model):
    session = fathom.Session(fathom.compile(model, dim={"batch_size": 1, "past_sequence_length": (0, 127)}))
    cache = {name: np.zeros((1, 2, 4, 32), np.float32) for name in cache_names(session.inputs)}
    inputs = {"input_ids": np.array([[1]]), "attention_mask": np.ones((1, 9), np.int64), **cache}
    with pytest.raises(fathom.Error):
        session.run(None, inputs)


def test_a_full_cache_is_refused(model):
    generator = Generator(model, max_length=4)
    generator.step([1, 2, 3, 4])
    with pytest.raises(fathom.Error, match="total_sequence_length"):
        generator.step([5])
    # Positions that the mask's length allows, but not its elements.
    inputs = {"input_ids": np.array([[1, 2]]), "attention_mask": np.full((1, 4), 9), **generator.past}
    with pytest.raises(fathom.Error, match="not inside the cache"):
        generator.session.run(["logits"], inputs, generator.present)
