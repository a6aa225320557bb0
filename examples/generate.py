#!/usr/bin/env python3
"""Greedy generation with a decoder whose cache is written in place.

    models/make_decoder.py decoder.onnx --bits 4
    examples/generate.py decoder.onnx --prompt 1,2,3 --tokens 32

The model has the inputs and outputs that onnxruntime-genai's builder gives a decoder: input_ids, attention_mask and
past_key_values.N.key/value; logits and present.N.key/value.
"""

import argparse
import time

import fathom
import numpy as np


class Generator:
    """A decoder compiled for one sequence of at most `max_length` tokens. Its cache has room for all of them."""

    def __init__(self, model, max_length: int, threads: int = 0):
        # A past of a fixed length is a buffer with room; every call writes the new positions into it.
        dim = {"batch_size": 1, "past_sequence_length": max_length, "total_sequence_length": (1, max_length)}
        self.session = fathom.Session(fathom.compile(model, dim=dim | {"sequence_length": (1, max_length)}), threads)
        self.max_length = max_length
        # One array is both an input (the past) and an output (the present): nothing is copied.
        infos = {info.name: info for info in self.session.inputs}
        pairs = self.session.aliases.items()
        arrays = {past: np.zeros(infos[past].shape, infos[past].dtype) for _, past in pairs}
        self.past = arrays
        self.present = {present: arrays[past] for present, past in pairs}
        self.length = 0

    def step(self, tokens: list[int]) -> int:
        """Feeds the tokens that follow those fed before; returns the most likely next one."""
        self.length += len(tokens)
        inputs = {
            "input_ids": np.array([tokens]),
            "attention_mask": np.ones((1, self.length), np.int64),
            **self.past,
        }
        (logits,) = self.session.run(["logits"], inputs, self.present)
        return int(logits[0, -1].argmax())

    def generate(self, prompt: list[int], count: int) -> list[int]:
        """The prompt at once, then one token at a time."""
        if len(prompt) + count > self.max_length + 1:
            raise ValueError(f"{len(prompt)} + {count} tokens do not fit into a cache of {self.max_length}")
        self.length = 0
        tokens = [self.step(prompt)]
        while len(tokens) < count:
            tokens.append(self.step(tokens[-1:]))
        return tokens


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--prompt", default="1", help="token numbers, separated by commas")
    parser.add_argument("--tokens", type=int, default=32, help="how many to generate")
    parser.add_argument("--max-length", type=int, default=256, help="room of the cache, prompt included")
    parser.add_argument("--threads", type=int, default=0, help="0: all CPUs")
    arguments = parser.parse_args()
    prompt = arguments.prompt.split(",")
    if arguments.tokens < 1 or not all(token.strip().isdigit() for token in prompt):
        parser.error("--tokens is at least 1, and --prompt is a list of token numbers such as 1,5,9")
    generator = Generator(arguments.model, arguments.max_length, arguments.threads)
    start = time.perf_counter()
    tokens = generator.generate([int(token) for token in prompt], arguments.tokens)
    seconds = time.perf_counter() - start
    print(*tokens)
    print(f"{len(tokens) / seconds:.1f} tokens a second")


if __name__ == "__main__":
    main()
