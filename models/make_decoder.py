#!/usr/bin/env python3
"""Writes a small Llama-style decoder with a cache, in the form in which onnxruntime-genai's builder exports one.

Grouped-query attention with rotary embeddings, RMS norms, a gated feed-forward network; seeded random weights, so that
the file is the same on every machine. With --bits 4 or 8 the matrices are quantized in blocks (MatMulNBits).

    make_decoder.py OUT.onnx [--bits 4]

Inputs: input_ids (batch_size, sequence_length), attention_mask (batch_size, total_sequence_length) and for every layer
past_key_values.N.key and .value (batch_size, heads, past_sequence_length, columns). Outputs: logits, present.N.key and
.value. Needs numpy and onnx.
"""

import argparse
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, HIDDEN, HEADS, GROUPS, COLUMNS = 4, 256, 8, 2, 32
INNER, VOCABULARY, POSITIONS, BLOCK = 688, 1000, 512, 32
EPSILON, ROTARY_BASE = 1e-5, 10000.0


def normal(name, *shape):
    """Seeded by the name, so that a tensor's values do not depend on the order of making them."""
    return np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape).astype(np.float32)


def quantize(weight, bits, has_zero_points):
    """Rows of `weight` in blocks: packed integers, scales and packed zero points (None where all are the middle)."""
    rows, depth = weight.shape
    blocks = -(-depth // BLOCK)
    padded = np.zeros((rows, blocks * BLOCK), np.float32)
    padded[:, :depth] = weight
    padded = padded.reshape(rows, blocks, BLOCK)
    top = 2**bits - 1
    if has_zero_points:
        low, high = np.minimum(padded.min(-1), 0), np.maximum(padded.max(-1), 0)
        scales = np.maximum((high - low) / top, 1e-8).astype(np.float32)
        zeros = np.clip(np.rint(-low / scales), 0, top)
    else:
        scales = np.maximum(np.abs(padded).max(-1) / (2 ** (bits - 1) - 1), 1e-8).astype(np.float32)
        zeros = np.full((rows, blocks), 2.0 ** (bits - 1))
    integers = np.clip(np.rint(padded / scales[..., None] + zeros[..., None]), 0, top).astype(np.uint8)
    return pack(integers, bits), scales, pack(zeros.astype(np.uint8), bits) if has_zero_points else None


def pack(integers, bits):
    """Along the last axis, the first of two nibbles in the low half of a byte."""
    if bits == 8:
        return integers
    if integers.shape[-1] % 2:
        integers = np.concatenate([integers, np.zeros_like(integers[..., :1])], -1)
    return integers[..., 0::2] | (integers[..., 1::2] << 4)


class Decoder:
    def __init__(self, bits):
        self.bits = bits
        self.nodes, self.initializers, self.inputs, self.outputs = [], [], [], []

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, op, inputs, name, outputs=None, domain="", **attributes):
        outputs = outputs or [f"{name}/output_0"]
        self.nodes.append(helper.make_node(op, inputs, outputs, name=name, domain=domain, **attributes))
        return outputs[0]

    def contrib(self, op, inputs, name, outputs=None, **attributes):
        return self.node(op, inputs, name, outputs, domain="com.microsoft", **attributes)

    def linear(self, value, name, depth, columns, output=None):
        """A product with a matrix, as floats or quantized."""
        weight = normal(f"{name}.weight", columns, depth) * np.float32(depth**-0.5)
        outputs = [output] if output else None
        if not self.bits:
            matrix = self.constant(f"{name}.weight", weight.T)
            return self.node("MatMul", [value, matrix], f"{name}/MatMul", outputs)
        # Both forms occur: quantizers that keep a zero point, and symmetric ones.
        packed, scales, zeros = quantize(weight, self.bits, has_zero_points="proj" in name)
        inputs = [value, self.constant(f"{name}.qweight", packed), self.constant(f"{name}.scales", scales)]
        if zeros is not None:
            inputs.append(self.constant(f"{name}.qzeros", zeros))
        sizes = {"K": depth, "N": columns, "bits": self.bits, "block_size": BLOCK}
        return self.contrib("MatMulNBits", inputs, f"{name}/MatMul_Quant", outputs, **sizes)

    def norm_scale(self, name):
        return self.constant(f"{name}.weight", 1 + 0.1 * normal(f"{name}.weight", HIDDEN))

    def lengths(self):
        """How far each sequence reaches (minus one) and the longest of them, from the mask."""
        axis, one = self.constant("axis", np.array([1])), self.constant("one", np.array([1]))
        total = self.node("ReduceSum", ["attention_mask", axis], "/model/mask/ReduceSum", keepdims=0)
        last = self.node("Sub", [total, one], "/model/mask/Sub")
        last = self.node("Cast", [last], "/model/mask/Sub/Cast", to=TensorProto.INT32)
        shape = self.node("Shape", ["attention_mask"], "/model/mask/Shape")
        length = self.node("Gather", [shape, self.constant("second", np.array(1))], "/model/mask/Gather", axis=0)
        return last, self.node("Cast", [length], "/model/mask/Gather/Cast", to=TensorProto.INT32)

    def rotary_tables(self):
        frequencies = ROTARY_BASE ** (-np.arange(0, COLUMNS, 2) / COLUMNS)
        angles = np.outer(np.arange(POSITIONS), frequencies)
        return [self.constant(f"{f.__name__}_cache", f(angles).astype(np.float32)) for f in (np.cos, np.sin)]

    def attention(self, value, layer, lengths, tables):
        name = f"/model/layers.{layer}/attn"
        names = [f"model.layers.{layer}.attn.{part}_proj" for part in "qkvo"]
        query = self.linear(value, names[0], HIDDEN, HEADS * COLUMNS)
        key, new = (self.linear(value, part, HIDDEN, GROUPS * COLUMNS) for part in names[1:3])
        past = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        present = [f"present.{layer}.{part}" for part in ("key", "value")]
        cache = ["batch_size", GROUPS, "past_sequence_length", COLUMNS]
        self.inputs += [helper.make_tensor_value_info(part, TensorProto.FLOAT, cache) for part in past]
        cache = ["batch_size", GROUPS, "total_sequence_length", COLUMNS]
        self.outputs += [helper.make_tensor_value_info(part, TensorProto.FLOAT, cache) for part in present]
        mixed = self.contrib(
            "GroupQueryAttention",
            [query, key, new, *past, *lengths, *tables],
            f"{name}/GroupQueryAttention",
            [f"{name}/GroupQueryAttention/output_0", *present],
            num_heads=HEADS,
            kv_num_heads=GROUPS,
            scale=COLUMNS**-0.5,
            do_rotary=1,
            rotary_interleaved=0,
        )
        return self.linear(mixed, names[3], HEADS * COLUMNS, HIDDEN)

    def feed_forward(self, value, layer):
        names = [f"model.layers.{layer}.mlp.{part}_proj" for part in ("gate", "up", "down")]
        gate, up = (self.linear(value, name, HIDDEN, INNER) for name in names[:2])
        path = f"/model/layers.{layer}/mlp"
        sigmoid = self.node("Sigmoid", [gate], f"{path}/act_fn/Sigmoid")
        active = self.node("Mul", [gate, sigmoid], f"{path}/act_fn/Mul")
        return self.linear(self.node("Mul", [active, up], f"{path}/Mul"), names[2], INNER, HIDDEN)

    def skip_norm(self, value, skip, name, scale, needs_sum=True):
        """The norm of a sum, and the sum."""
        outputs = [f"{name}/output_0"] + (["", "", f"{name}/output_3"] if needs_sum else [])
        scale = self.norm_scale(scale)
        self.contrib("SkipSimplifiedLayerNormalization", [skip, value, scale], name, outputs, epsilon=EPSILON)
        return outputs[0], outputs[-1]

    def model(self):
        ids = ["batch_size", "sequence_length"]
        self.inputs = [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ids),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch_size", "total_sequence_length"]),
        ]
        self.outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [*ids, VOCABULARY])]
        embedding = self.constant("model.embed_tokens.weight", normal("embedding", VOCABULARY, HIDDEN))
        skip = self.node("Gather", [embedding, "input_ids"], "/model/embed_tokens/Gather")
        lengths, tables = self.lengths(), self.rotary_tables()
        scale = self.norm_scale("model.layers.0.input_layernorm")
        name = "/model/layers.0/input_layernorm/LayerNorm"
        value = self.node("SimplifiedLayerNormalization", [skip, scale], name, axis=-1, epsilon=EPSILON, stash_type=1)
        for layer in range(LAYERS):
            value = self.attention(value, layer, lengths, tables)
            path, scale = f"/model/layers.{layer}", f"model.layers.{layer}"
            middle = (f"{path}/post_attention_layernorm/SkipLayerNorm", f"{scale}.post_attention_layernorm")
            value, skip = self.skip_norm(value, skip, *middle)
            value = self.feed_forward(value, layer)
            is_last = layer + 1 == LAYERS
            after = f"layers.{layer + 1}.{'final_norm' if is_last else 'input'}_layernorm"
            value, skip = self.skip_norm(value, skip, f"/model/{after}/SkipLayerNorm", f"model.{after}", not is_last)
        self.linear(value, "lm_head", HIDDEN, VOCABULARY, "logits")
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.initializers)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="fathom/make_decoder.py")


def make_decoder(bits=0):
    """The model as a ModelProto; bits 0 means floats."""
    return Decoder(bits).model()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output")
    parser.add_argument("--bits", type=int, choices=(0, 4, 8), default=0, help="of the quantized weights; 0: floats")
    arguments = parser.parse_args()
    onnx.save(make_decoder(arguments.bits), arguments.output)


if __name__ == "__main__":
    main()
