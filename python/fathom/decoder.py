"""Decoders with a cache of keys and values: tokens out of tokens, greedily or drawn, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .compile import compile
from .errors import Error
from .reference import import_onnx
from .sequences import bad_input
from .session import Session


@dataclass(frozen=True)
class Sampling:
    """How a token is chosen of its logits: the most likely one, or one that is drawn."""

    do_sample: bool = False
    temperature: float = 1.0
    top_k: int = 0  # draw among so many of the most likely; 0: all
    top_p: float = 1.0  # draw among the most likely that together have this probability

    def __post_init__(self):
        if self.temperature <= 0 or self.top_k < 0 or not 0 < self.top_p <= 1:
            raise Error(f"temperature is above 0, top_k 0 or more and top_p above 0 and at most 1, not {self}", "F1012", 1)

    def choose(self, logits: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Of rows of logits."""
        if not self.do_sample:
            return logits.argmax(-1)
        scaled = logits.astype(np.float64) / self.temperature
        order = np.argsort(-scaled, axis=-1, kind="stable")
        ranked = np.take_along_axis(scaled, order, -1)
        chances = np.exp(ranked - ranked[:, :1])
        if self.top_k:
            chances[:, self.top_k :] = 0
        chances /= chances.sum(-1, keepdims=True)
        # The first whose predecessors do not reach top_p; the most likely one always.
        chances[chances.cumsum(-1) - chances >= self.top_p] = 0
        bounds = chances.cumsum(-1)
        drawn = (bounds <= random.random((len(logits), 1)) * bounds[:, -1:]).sum(-1)
        return order[np.arange(len(logits)), np.minimum(drawn, logits.shape[-1] - 1)]


def _names_of_sizes(model) -> tuple[str, str, bool]:
    """The dimension of a cache's past, that of the mask, and whether GroupQueryAttention is there, which writes in place."""
    onnx = import_onnx()
    if not hasattr(model, "graph"):
        is_bytes = isinstance(model, (bytes, bytearray, memoryview))
        model = onnx.load_from_string(bytes(model)) if is_bytes else onnx.load(model, load_external_data=False)
    past = mask = ""
    for value in model.graph.input:
        dims = [dim.dim_param for dim in value.type.tensor_type.shape.dim]
        if value.name.startswith("past") and len(dims) == 4:
            past = dims[2]
        elif value.name == "attention_mask" and len(dims) == 2:
            mask = dims[1]
    if not past:
        raise bad_input("the model has no cache", "a decoder has inputs past_key_values.N.key and past_key_values.N.value")
    return past, mask, any(node.op_type == "GroupQueryAttention" for node in model.graph.node)


class Decoder:
    """A decoder as ONNX Runtime's exporters and Optimum write it: input_ids, a mask, past_key_values.*; logits, present.*.

    decoder = fathom.hf.Decoder("model.onnx", max_length=1024)
    tokens = decoder.generate(tokenizer("Once", return_tensors="np").input_ids, max_new_tokens=50)

    A cache that the model can write in place is one buffer, of which no step copies anything.
    """

    def __init__(self, model, max_length: int = 256, *, threads: int = 0, cache: bool = True, **options):
        """`max_length` tokens at most, the prompt included; options are those of fathom.compile."""
        past, mask, writes_in_place = _names_of_sizes(model)
        dims: dict = {past: (0, max_length - 1)}
        if writes_in_place:
            dims = {past: max_length, **({mask: (1, max_length)} if mask else {})}
        dims.update(options.pop("dim", None) or {})
        self.max_length = max_length
        self.session = Session(compile(model, cache=cache, dim=dims, **options), threads=threads)
        infos = {info.name: info for info in self.session.inputs}
        self._takes = {name for name in infos if not name.startswith("past")}
        if unknown := self._takes - {"input_ids", "attention_mask", "position_ids"}:
            raise bad_input(f"input '{min(unknown)}' is none that a decoder has")
        self._past = {name: info for name, info in infos.items() if name.startswith("past")}
        outputs = [info.name for info in self.session.outputs if info.name != "logits"]
        # The output of a cache by its input: in place, or by their order.
        in_place = {past: present for present, past in self.session.aliases.items()}
        self._present = in_place or dict(zip(self._past, outputs, strict=True))
        self.is_in_place = len(in_place) == len(self._past)

    def _room(self, batch: int) -> dict[str, np.ndarray]:
        """Caches before the first token."""
        length = self.max_length if self.is_in_place else 0
        return {
            name: np.zeros([batch, info.shape[1], length, info.shape[3]], info.dtype) for name, info in self._past.items()
        }

    def _step(self, tokens: np.ndarray, length: int, caches: dict) -> np.ndarray:
        """The logits behind the last of tokens, which follow those that the caches hold."""
        feed = {"input_ids": tokens, **caches}
        if "attention_mask" in self._takes:
            feed["attention_mask"] = np.ones((len(tokens), length), np.int64)
        if "position_ids" in self._takes:
            feed["position_ids"] = np.tile(np.arange(length - tokens.shape[1], length), (len(tokens), 1))
        if self.is_in_place:
            [logits] = self.session.run(["logits"], feed, {self._present[name]: array for name, array in caches.items()})
        else:
            logits, *grown = self.session.run(["logits", *self._present.values()], feed)
            caches.update(zip(self._present, grown))
        return logits[:, -1]

    def stream(
        self, input_ids, max_new_tokens: int = 32, *, eos_token_id=None, seed: int | None = None, **sampling
    ) -> Iterator[np.ndarray]:
        """The next token of each row, one step after the other; ends where every row had its end. See Sampling."""
        how, random = Sampling(**sampling), np.random.default_rng(seed)
        tokens = np.asarray(input_ids, np.int64)
        if tokens.ndim != 2 or not tokens.shape[1]:
            raise bad_input(f"input_ids has shape {list(tokens.shape)}: expected rows of tokens, one or more")
        if tokens.shape[1] + max_new_tokens > self.max_length + 1:
            raise bad_input(
                f"{tokens.shape[1]} tokens and {max_new_tokens} more do not fit into {self.max_length}", "give a larger max_length"
            )
        ends = np.atleast_1d([] if eos_token_id is None else eos_token_id)
        is_over = np.zeros(len(tokens), bool)
        caches, length = self._room(len(tokens)), 0
        for _ in range(max_new_tokens):
            length += tokens.shape[1]
            chosen = how.choose(self._step(tokens, length, caches), random)
            if len(ends):
                chosen = np.where(is_over, ends[0], chosen)
                is_over |= np.isin(chosen, ends)
            yield chosen
            if is_over.all():
                return
            tokens = chosen[:, None]

    def generate(self, input_ids, max_new_tokens: int = 32, *, streamer=None, **more):
        """The prompt and what follows it, rows of equal length; of the same kind as `input_ids`.

        `streamer` is one of transformers', or anything with put(tokens) and end(); for others see stream.
        """
        prompt = np.asarray(input_ids, np.int64)
        steps = []
        if streamer is not None:
            streamer.put(prompt)
        for chosen in self.stream(prompt, max_new_tokens, **more):
            steps.append(chosen[:, None])
            if streamer is not None:
                streamer.put(chosen)
        if streamer is not None:
            streamer.end()
        tokens = np.concatenate([prompt, *steps], axis=1)
        if hasattr(input_ids, "__dlpack__") and not isinstance(input_ids, np.ndarray):
            import torch

            return torch.from_dlpack(tokens)
        return tokens
