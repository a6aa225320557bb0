"""fathom.hf: models called like Optimum's, and decoders that generate what ONNX Runtime's logits lead to."""

import sys

import fathom
import fathom.hf
import numpy as np
import onnxruntime
import pytest
from fathom.decoder import Sampling
from support.models import FLOAT, INT64, model, node
from support.tool import ROOT

sys.path.append(str(ROOT / "models"))
from make_decoder import make_decoder  # noqa: E402


@pytest.fixture(autouse=True)
def kept(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path_factory.mktemp("kept")))


def encoder():
    """A sum of embeddings of tokens, positions and types, where the mask is set."""
    table = np.arange(400, dtype=np.float32).reshape(100, 4) / 100
    nodes = [
        node("Gather", "table input_ids", "a"),
        node("Gather", "table position_ids", "b"),
        node("Gather", "table token_type_ids", "c"),
        node("Sum", "a b c", "d"),
        node("Unsqueeze", "attention_mask axis", "m"),
        node("Cast", "m", "f", to=FLOAT),
        node("Mul", "d f", "logits"),
        node("ReduceSum", "logits axis", "pooled"),
    ]
    sizes = ["batch", "length"]
    inputs = [(name, INT64, sizes) for name in ("input_ids", "attention_mask", "position_ids", "token_type_ids")]
    return model(nodes, inputs, [("logits", FLOAT), ("pooled", FLOAT)], {"table": table, "axis": np.array([2])})


def test_what_is_left_out_is_made(random):
    called = fathom.hf.Session(encoder())
    reference = onnxruntime.InferenceSession(encoder().SerializeToString())
    ids = random.integers(0, 100, (3, 5))
    mask = np.array([[1] * 5, [0, 0, 1, 1, 1], [0, 1, 1, 1, 1]])
    positions = np.array([[0, 1, 2, 3, 4], [1, 1, 0, 1, 2], [1, 0, 1, 2, 3]])
    want = reference.run(None, {"input_ids": ids, "attention_mask": mask, "position_ids": positions, "token_type_ids": ids * 0})
    output = called(input_ids=ids, attention_mask=mask, labels=None, unknown=ids)
    np.testing.assert_allclose(output.logits, want[0], rtol=1e-6)
    np.testing.assert_allclose(output["pooled"], want[1], rtol=1e-6)
    assert output[0] is output.logits and list(output) == ["logits", "pooled"] and len(output.to_tuple()) == 2
    whole = called(ids)
    np.testing.assert_allclose(whole.logits[0], want[0][0], rtol=1e-6)
    with pytest.raises(AttributeError, match="no output 'scores': it has logits, pooled"):
        output.scores
    with pytest.raises(fathom.Error, match="input 'input_ids' is missing"):
        called(attention_mask=mask)


def greedy(proto, prompt, count):
    """Without a cache: the whole sequence at each step."""
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    names = [info.name for info in session.get_inputs() if info.name.startswith("past")]
    tokens = np.array(prompt)
    while tokens.shape[1] < len(prompt[0]) + count:
        past = {name: np.zeros((len(tokens), 2, 0, 32), np.float32) for name in names}
        logits = session.run(["logits"], {"input_ids": tokens, "attention_mask": np.ones(tokens.shape, np.int64), **past})[0]
        tokens = np.concatenate([tokens, logits[:, -1].argmax(-1)[:, None]], 1)
    return tokens


@pytest.fixture(scope="module")
def proto():
    return make_decoder(0)


@pytest.mark.parametrize("is_in_place", [True, False])
def test_greedy_tokens(proto, random, is_in_place):
    past = {} if is_in_place else {"past_sequence_length": (0, 63), "total_sequence_length": (1, 64)}
    decoder = fathom.hf.Decoder(proto, max_length=64, dim=past)
    assert decoder.is_in_place == is_in_place
    seen = set()
    for rows, length in ((1, 1), (2, 7)):
        prompt = random.integers(0, 1000, (rows, length))
        want = greedy(proto, prompt, 12)
        got = decoder.generate(prompt, 12)
        np.testing.assert_array_equal(got, want)
        seen.update(got[:, length:].ravel().tolist())
    assert len(seen) > 4  # one prompt in a hundred leads to the same few tokens again and again


def test_streaming_and_ends(proto):
    class Streamer:
        def __init__(self):
            self.seen, self.is_over = [], False

        def put(self, tokens):
            self.seen.append(np.asarray(tokens))

        def end(self):
            self.is_over = True

    decoder = fathom.hf.Decoder(proto, max_length=64)
    streamer, prompt = Streamer(), np.array([[7, 8]])
    whole = decoder.generate(prompt, 10, streamer=streamer)
    np.testing.assert_array_equal(streamer.seen[0], prompt)
    np.testing.assert_array_equal(np.concatenate(streamer.seen[1:]), whole[0, 2:])
    assert streamer.is_over
    np.testing.assert_array_equal(np.concatenate(list(decoder.stream(prompt, 10))), whole[0, 2:])
    end = int(whole[0, 5])
    first = whole[0, 2:].tolist().index(end)
    np.testing.assert_array_equal(decoder.generate(prompt, 10, eos_token_id=end), whole[:, : first + 3])
    # A row that is over goes on with the end while others are not.
    both = decoder.generate(np.array([[7, 8], [9, 1]]), 10, eos_token_id=[end])
    assert (both[0, first + 2 :] == end).all()
    for wrong, words in ((np.array([7]), "has shape"), (np.zeros((1, 60), np.int64), "do not fit into 64")):
        with pytest.raises(fathom.Error, match=words):
            decoder.generate(wrong, 10)


def test_no_decoder():
    with pytest.raises(fathom.Error, match="the model has no cache"):
        fathom.hf.Decoder(encoder())


def test_draws(random):
    """Frequencies are the probabilities of what may be drawn."""
    logits = np.log(np.array([[0.5, 0.05, 0.3, 0.15]], np.float32))
    rows = np.repeat(logits, 20000, 0)
    for how, want in (
        (Sampling(True), [0.5, 0.05, 0.3, 0.15]),
        (Sampling(True, top_k=2), [0.625, 0, 0.375, 0]),
        (Sampling(True, top_p=0.6), [0.625, 0, 0.375, 0]),
        (Sampling(True, top_p=0.1), [1, 0, 0, 0]),
        (Sampling(True, temperature=0.5), np.array([0.25, 0.0025, 0.09, 0.0225]) / 0.365),
        (Sampling(), [1, 0, 0, 0]),
    ):
        found = np.bincount(how.choose(rows, random), minlength=4) / len(rows)
        np.testing.assert_allclose(found, want, atol=0.02)  # five deviations
        assert (found[np.array(want) == 0] == 0).all()
    for wrong in ({"temperature": 0}, {"top_p": 0}, {"top_k": -1}):
        with pytest.raises(fathom.Error, match="F1012"):
            Sampling(True, **wrong)


def test_seeds(proto):
    decoder = fathom.hf.Decoder(proto, max_length=32)
    one, same, other = (decoder.generate([[5]], 12, do_sample=True, temperature=3.0, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
