#!/usr/bin/env python3
"""Networks of torchvision, timm, transformers and diffusers, exported as users do, against ONNX Runtime.

    export_networks.py [PATTERN ...] [--keep FOLDER] [--threads N] [--list]

Builds each network with random weights at a small size (few layers, narrow), exports it with torch.onnx.export, by the old exporter and by
the new one (torch.export), with dimensions that may change, compiles it, and compares it with ONNX Runtime on two shapes. Prints a table:
network, exporter, whether it compiled, the largest difference relative to the output's largest magnitude, and the ratio of the times
(above 1: Fathom is faster). What torch cannot export, or ONNX Runtime cannot run, is said and not counted. PATTERN selects names that
contain it. Exits with 1 when a network that ONNX Runtime runs does not compile or differs.

Needs: pip install torch torchvision torchaudio timm transformers diffusers onnx onnxscript onnxruntime, and Fathom's Python package on PYTHONPATH.
"""
import argparse
import inspect
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

TOLERANCE = 2e-3  # of the largest magnitude: random weights without training amplify rounding
NETWORKS = {}


def network(name, exporters=("old", "new")):
    """Registers a function that returns a module, the inputs by name for each shape, and the dimensions that change: {input: {axis: name}}."""

    def register(function):
        for exporter in exporters:
            NETWORKS[f"{name}/{exporter}"] = (function, exporter)
        return function

    return register


def images(*shapes):
    import torch

    return [{"image": torch.randn(shape)} for shape in shapes]


def image_network(name, make, shapes=((1, 3, 64, 64), (2, 3, 96, 64)), dims="nhw", exporters=("old", "new")):
    """A network of one image; `dims` names the dimensions that change."""
    changing = {{"n": 0, "h": 2, "w": 3}[label]: label for label in dims}
    network(name, exporters)(lambda: (make(), images(*shapes), {"image": changing}))


def torchvision_model(group, name, **options):
    def make():
        import torchvision

        module = torchvision.models
        for part in group.split("."):
            module = getattr(module, part) if part else module
        return getattr(module, name)(weights=None, **options)

    return make


def timm_model(name, **options):
    def make():
        import timm

        return timm.create_model(name, pretrained=False, num_classes=10, **options)

    return make


class Pick:
    """A module that gives the tensors of another's output by name or position."""

    def __new__(cls, module, *keys):
        import torch

        class Picked(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = module

            def forward(self, *inputs):
                out = self.module(*inputs)
                picked = tuple(out[key] for key in keys)
                return picked if len(picked) > 1 else picked[0]

        return Picked()


def by_name(module, names, *keys):
    """A module that calls another with its inputs by name, and gives some of its outputs."""
    import torch

    class Called(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, *inputs):
            out = self.module(**dict(zip(names, inputs)), return_dict=True)
            picked = tuple(out[key] for key in keys)
            return picked if len(picked) > 1 else picked[0]

    return Called()


def tokens(shape, vocabulary=100, **more):
    import torch

    return {"input_ids": torch.randint(5, vocabulary, shape), "attention_mask": torch.ones(shape, dtype=torch.int64), **more}


def text_network(name, model, config, key="last_hidden_state", shapes=((1, 16), (2, 24)), exporters=("old", "new"), mask=True, **options):
    @network(name, exporters)
    def build():
        import transformers

        module = getattr(transformers, model)(getattr(transformers, config)(vocab_size=100, **options))
        names = ["input_ids", "attention_mask"] if mask else ["input_ids"]
        inputs = [{name: tokens(shape)[name] for name in names} for shape in shapes]
        return by_name(module, names, key), inputs, {name: {0: "batch", 1: "length"} for name in names}


# Segmentation, classification and video of torchvision.
for _name in ("deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"):
    image_network(_name, lambda name=_name: Pick(torchvision_model("segmentation", name, weights_backbone=None, num_classes=5)(), "out"),
                  shapes=((1, 3, 64, 64), (2, 3, 96, 64)))  # fmt: skip
for _name, _dims in (("mobilenet_v3_small", "nhw"), ("shufflenet_v2_x0_5", "nhw"), ("mnasnet0_5", "nhw"), ("regnet_y_400mf", "nhw"),
                     ("squeezenet1_1", "nhw"), ("efficientnet_b0", "nhw"), ("resnet18", "nhw"), ("densenet121", "nhw")):  # fmt: skip
    image_network(f"torchvision_{_name}", torchvision_model("", _name, num_classes=10), dims=_dims)
image_network("torchvision_swin_t", torchvision_model("", "swin_t", num_classes=10), dims="n", shapes=((1, 3, 64, 64), (3, 3, 64, 64)))
image_network("torchvision_maxvit", lambda: torchvision_model("", "maxvit_t", num_classes=10)(), dims="n",
              shapes=((1, 3, 224, 224), (2, 3, 224, 224)), exporters=("old",))  # fmt: skip
image_network("torchvision_vit", lambda: torchvision_vit(), dims="n", shapes=((1, 3, 32, 32), (3, 3, 32, 32)))


def torchvision_vit():
    from torchvision.models import VisionTransformer

    return VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=32, mlp_dim=64, num_classes=10)


@network("torchvision_r3d_18")
def _video():
    import torch

    module = torchvision_model("video", "r3d_18", num_classes=5)()
    return module, [{"image": torch.randn(1, 3, 8, 32, 32)}, {"image": torch.randn(2, 3, 4, 32, 48)}], {"image": {0: "n", 2: "t", 4: "w"}}


@network("torchvision_ssdlite320", exporters=("old",))
def _ssdlite():
    import torch
    import torchvision

    module = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)

    class One(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, image):
            out = self.module([image[0]])[0]
            return out["boxes"], out["scores"], out["labels"]

    return One(), images((1, 3, 320, 320), (1, 3, 320, 320)), {}


# timm.
for _name, _dims, _shapes in (
    ("convnext_atto", "nhw", None),
    ("convnextv2_atto", "nhw", None),
    ("regnetx_002", "nhw", None),
    ("hrnet_w18_small", "nhw", None),
    ("mobilenetv4_conv_small", "nhw", None),
    ("efficientvit_b0", "nhw", None),
    ("edgenext_xx_small", "nhw", None),
    ("repvgg_a0", "nhw", None),
    ("ghostnet_100", "nhw", None),
    ("fastvit_t8", "nhw", None),
    ("poolformer_s12", "nhw", None),
    ("res2net50_14w_8s", "nhw", None),
    ("skresnet18", "nhw", None),
    ("mobilevit_xxs", "n", ((1, 3, 64, 64), (2, 3, 64, 64))),
    ("mobilevitv2_050", "n", ((1, 3, 64, 64), (2, 3, 64, 64))),
    ("mobileone_s0", "nhw", None),
    ("rexnet_100", "nhw", None),
    ("tinynet_e", "nhw", None),
    ("lcnet_050", "nhw", None),
    ("cspdarknet53", "nhw", None),
    ("dla34", "nhw", None),
    ("vovnet39a", "nhw", None),
    ("inception_next_tiny", "nhw", None),
    ("resnest14d", "nhw", None),
):
    image_network(f"timm_{_name}", timm_model(_name), dims=_dims, shapes=_shapes or ((1, 3, 64, 64), (2, 3, 96, 64)))
for _name, _size, _options in (
    ("vit_tiny_patch16_224", 64, {"img_size": 64, "depth": 2}),
    ("deit3_small_patch16_224", 64, {"img_size": 64, "depth": 2}),
    ("swin_tiny_patch4_window7_224", 56, {"img_size": 56, "depths": (1, 1, 2, 1), "embed_dim": 32, "num_heads": (1, 2, 4, 8)}),
    ("swinv2_tiny_window8_256", 64, {"img_size": 64, "depths": (1, 1, 2, 1), "embed_dim": 32, "num_heads": (1, 2, 4, 8)}),
    ("coatnet_0_rw_224", 64, {"img_size": 64}),
    ("maxvit_pico_rw_256", 64, {"img_size": 64}),
    ("efficientformer_l1", 224, {}),
    ("efficientformerv2_s0", 224, {}),
    ("levit_128s", 224, {}),
    ("pit_ti_224", 224, {}),
    ("xcit_nano_12_p16_224", 64, {}),
    ("beit_base_patch16_224", 64, {"img_size": 64, "depth": 2, "embed_dim": 48, "num_heads": 3}),
    ("cait_xxs24_224", 64, {"img_size": 64, "depth": 2}),
    ("crossvit_tiny_240", 240, {}),
    ("mixer_s32_224", 64, {"img_size": 64, "num_blocks": 2}),
    ("gmlp_ti16_224", 64, {"img_size": 64, "num_blocks": 2}),
    ("resmlp_12_224", 64, {"img_size": 64, "num_blocks": 2}),
    ("twins_svt_small", 64, {"img_size": 64}),
    ("pvt_v2_b0", 64, {}),
    ("visformer_tiny", 64, {"img_size": 64}),
    ("eva02_tiny_patch14_224", 56, {"img_size": 56, "depth": 2}),
    ("focalnet_tiny_srf", 64, {"depths": (1, 1, 2, 1), "embed_dim": 32}),
    ("nest_tiny_jx", 64, {"img_size": 64, "depths": (1, 1, 2), "embed_dims": (32, 64, 128), "num_heads": (1, 2, 4)}),
    ("volo_d1_224", 64, {"img_size": 64, "layers": (1, 1, 2, 1)}),
    ("davit_tiny", 64, {}),
    ("hiera_tiny_224", 224, {}),
    ("repvit_m0_9", 64, {}),
    ("tiny_vit_5m_224", 64, {"img_size": 64}),
):
    image_network(f"timm_{_name}", timm_model(_name, **_options), dims="n", shapes=((1, 3, _size, _size), (2, 3, _size, _size)))

# Text.
_small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
text_network("electra", "ElectraModel", "ElectraConfig", embedding_size=16, **_small)
text_network("roberta", "RobertaModel", "RobertaConfig", max_position_embeddings=64, **_small)
text_network("deberta_v2", "DebertaV2Model", "DebertaV2Config", relative_attention=True, position_biased_input=False,
             pos_att_type=["p2c", "c2p"], **_small)  # fmt: skip
text_network("deberta", "DebertaModel", "DebertaConfig", relative_attention=True, pos_att_type=["p2c", "c2p"], **_small)
text_network("mpnet", "MPNetModel", "MPNetConfig", **_small)
text_network("albert", "AlbertModel", "AlbertConfig", embedding_size=16, **_small)
text_network("squeezebert", "SqueezeBertModel", "SqueezeBertConfig", embedding_size=32, **_small)
text_network("mobilebert", "MobileBertModel", "MobileBertConfig", num_hidden_layers=2, hidden_size=64, embedding_size=32,
             intra_bottleneck_size=32, num_attention_heads=4, intermediate_size=64)  # fmt: skip
text_network("convbert", "ConvBertModel", "ConvBertConfig", embedding_size=32, conv_kernel_size=3, **_small)
text_network("fnet", "FNetModel", "FNetConfig", mask=False, hidden_size=32, num_hidden_layers=2, intermediate_size=64)
text_network("funnel", "FunnelBaseModel", "FunnelConfig", block_sizes=[1, 1], d_model=32, n_head=4, d_head=8, d_inner=64)
text_network("longformer", "LongformerModel", "LongformerConfig", attention_window=8, shapes=((1, 16), (2, 32)), **_small)
text_network("bigbird", "BigBirdModel", "BigBirdConfig", attention_type="original_full", **_small)
text_network("bigbird_sparse", "BigBirdModel", "BigBirdConfig", attention_type="block_sparse", block_size=4, num_random_blocks=1,
             max_position_embeddings=128, shapes=((1, 64), (2, 64)), **_small)  # fmt: skip
text_network("nystromformer", "NystromformerModel", "NystromformerConfig", num_landmarks=4, segment_means_seq_len=16,
             shapes=((1, 16), (2, 16)), **_small)  # fmt: skip
text_network("roformer", "RoFormerModel", "RoFormerConfig", embedding_size=32, **_small)
text_network("ernie", "ErnieModel", "ErnieConfig", **_small)
text_network("xlnet", "XLNetModel", "XLNetConfig", d_model=32, n_layer=2, n_head=4, d_inner=64)
text_network("t5_encoder", "T5EncoderModel", "T5Config", d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
text_network("gpt2", "GPT2LMHeadModel", "GPT2Config", key="logits", n_embd=32, n_layer=2, n_head=4, use_cache=False)
text_network("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", key="logits", use_cache=False, **_small)
text_network("llama", "LlamaForCausalLM", "LlamaConfig", key="logits", num_key_value_heads=2, use_cache=False, **_small)
text_network("mistral", "MistralForCausalLM", "MistralConfig", key="logits", num_key_value_heads=2, use_cache=False, **_small)
text_network("qwen2", "Qwen2ForCausalLM", "Qwen2Config", key="logits", num_key_value_heads=2, use_cache=False, **_small)
text_network("gemma", "GemmaForCausalLM", "GemmaConfig", key="logits", num_key_value_heads=2, head_dim=8, use_cache=False, **_small)
text_network("phi", "PhiForCausalLM", "PhiConfig", key="logits", use_cache=False, **_small)
text_network("opt", "OPTForCausalLM", "OPTConfig", key="logits", ffn_dim=64, word_embed_proj_dim=32, use_cache=False, hidden_size=32,
             num_hidden_layers=2, num_attention_heads=4)  # fmt: skip
text_network("bloom", "BloomForCausalLM", "BloomConfig", key="logits", n_layer=2, n_head=4, hidden_size=32, use_cache=False)
text_network("xglm", "XGLMForCausalLM", "XGLMConfig", key="logits", d_model=32, num_layers=2, attention_heads=4, ffn_dim=64, use_cache=False)


@network("t5")
def _t5():
    import torch
    import transformers

    config = transformers.T5Config(vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, use_cache=False)
    module = transformers.T5ForConditionalGeneration(config)
    names = ["input_ids", "attention_mask", "decoder_input_ids"]
    inputs = [{**tokens((b, n)), "decoder_input_ids": torch.randint(5, 100, (b, m))} for b, n, m in ((1, 16, 5), (2, 24, 7))]
    return by_name(module, names, "logits"), inputs, {name: {0: "batch", 1: "length" if i < 2 else "written"} for i, name in enumerate(names)}


@network("bart")
def _bart():
    import torch
    import transformers

    config = transformers.BartConfig(vocab_size=100, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                                     decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, use_cache=False)  # fmt: skip
    module = transformers.BartModel(config)
    names = ["input_ids", "attention_mask", "decoder_input_ids"]
    inputs = [{**tokens((b, n)), "decoder_input_ids": torch.randint(5, 100, (b, m))} for b, n, m in ((1, 16, 5), (2, 24, 7))]
    axes = {name: {0: "batch", 1: "length" if i < 2 else "written"} for i, name in enumerate(names)}
    return by_name(module, names, "last_hidden_state"), inputs, axes


# Sound.
@network("whisper_encoder")
def _whisper():
    import torch
    import transformers

    config = transformers.WhisperConfig(vocab_size=100, d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64,
                                        num_mel_bins=20, max_source_positions=50)  # fmt: skip
    module = transformers.models.whisper.modeling_whisper.WhisperEncoder(config)
    inputs = [{"input_features": torch.randn(b, 20, 100)} for b in (1, 2)]
    return by_name(module, ["input_features"], "last_hidden_state"), inputs, {"input_features": {0: "batch"}}


def _sound(model, config, **options):
    def build():
        import torch
        import transformers

        module = getattr(transformers, model)(getattr(transformers, config)(**options))
        inputs = [{"input_values": torch.randn(b, n)} for b, n in ((1, 1600), (2, 2400))]
        return by_name(module, ["input_values"], "last_hidden_state"), inputs, {"input_values": {0: "batch", 1: "samples"}}

    return build


_wave = {"conv_dim": (32,) * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, **_small}
network("wav2vec2")(_sound("Wav2Vec2Model", "Wav2Vec2Config", **_wave))
network("hubert")(_sound("HubertModel", "HubertConfig", **_wave))
network("wavlm")(_sound("WavLMModel", "WavLMConfig", **_wave))
network("unispeech")(_sound("UniSpeechModel", "UniSpeechConfig", **_wave))


@network("encodec")
def _encodec():
    import torch
    import transformers

    module = transformers.EncodecModel(transformers.EncodecConfig(num_filters=8, hidden_size=32, codebook_dim=32, codebook_size=64,
                                                                  upsampling_ratios=[4, 2], num_lstm_layers=1))  # fmt: skip

    class Halves(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = module.encoder, module.decoder

        def forward(self, sound):
            code = self.encoder(sound)
            return code, self.decoder(code)

    return Halves(), [{"sound": torch.randn(b, 1, n)} for b, n in ((1, 800), (2, 1200))], {"sound": {0: "batch", 2: "samples"}}


@network("hifigan")
def _hifigan():
    import torch
    import transformers

    config = transformers.SpeechT5HifiGanConfig(model_in_dim=20, upsample_initial_channel=32)
    module = transformers.SpeechT5HifiGan(config)
    inputs = [{"spectrogram": torch.randn(b, n, 20)} for b, n in ((1, 12), (2, 20))]
    return module, inputs, {"spectrogram": {0: "batch", 1: "frames"}}


@network("audio_spectrogram")
def _spectrogram():
    import torch
    import transformers

    module = transformers.ASTModel(transformers.ASTConfig(max_length=64, num_mel_bins=32, **_small))
    inputs = [{"input_values": torch.randn(b, 64, 32)} for b in (1, 2)]
    return by_name(module, ["input_values"], "last_hidden_state"), inputs, {"input_values": {0: "batch"}}


# Images of transformers.
def picture_network(name, model, config, key, shapes, dims, exporters=("old", "new"), **options):
    @network(name, exporters)
    def build():
        import torch
        import transformers

        module = getattr(transformers, model)(getattr(transformers, config)(**options))
        inputs = [{"pixel_values": torch.randn(shape)} for shape in shapes]
        return by_name(module, ["pixel_values"], key), inputs, {"pixel_values": {{"n": 0, "h": 2, "w": 3}[d]: d for d in dims}}


picture_network("segformer", "SegformerForSemanticSegmentation", "SegformerConfig", "logits", ((1, 3, 64, 64), (2, 3, 96, 64)), "nhw",
                depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 48, 64], decoder_hidden_size=32)  # fmt: skip
picture_network("hf_mobilevit", "MobileViTForSemanticSegmentation", "MobileViTConfig", "logits", ((1, 3, 64, 64), (2, 3, 64, 64)), "n",
                hidden_sizes=[16, 24, 32], neck_hidden_sizes=[8, 8, 16, 16, 24, 32, 40], image_size=64)  # fmt: skip
picture_network("hf_dinov2", "Dinov2Model", "Dinov2Config", "last_hidden_state", ((1, 3, 56, 56), (2, 3, 70, 56)), "nhw", image_size=56,
                patch_size=14, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)  # fmt: skip
picture_network("hf_swin", "SwinModel", "SwinConfig", "last_hidden_state", ((1, 3, 64, 64), (2, 3, 96, 64)), "nhw", image_size=64,
                embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4)  # fmt: skip
picture_network("hf_dpt", "DPTForDepthEstimation", "DPTConfig", "predicted_depth", ((1, 3, 64, 64), (2, 3, 64, 64)), "nhw", image_size=64,
                patch_size=16, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, intermediate_size=64,
                backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[16, 24, 32, 32], fusion_hidden_size=32, is_hybrid=False)  # fmt: skip
picture_network("hf_glpn", "GLPNForDepthEstimation", "GLPNConfig", "predicted_depth", ((1, 3, 64, 64), (2, 3, 96, 64)), "nhw",
                depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 48, 64], decoder_hidden_size=32)  # fmt: skip
picture_network("hf_cvt", "CvtModel", "CvtConfig", "last_hidden_state", ((1, 3, 64, 64), (2, 3, 64, 64)), "n", embed_dim=[16, 32, 48],
                num_heads=[1, 2, 3], depth=[1, 1, 1])  # fmt: skip
picture_network("hf_poolformer", "PoolFormerModel", "PoolFormerConfig", "last_hidden_state", ((1, 3, 64, 64), (2, 3, 96, 64)), "nhw",
                depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 48, 64])  # fmt: skip
picture_network("hf_bit", "BitModel", "BitConfig", "last_hidden_state", ((1, 3, 64, 64), (2, 3, 96, 64)), "nhw", embedding_size=16,
                hidden_sizes=[32, 32, 64, 64], depths=[1, 1, 1, 1], num_groups=4)  # fmt: skip
picture_network("hf_yolos", "YolosModel", "YolosConfig", "last_hidden_state", ((1, 3, 64, 64), (2, 3, 64, 64)), "n", image_size=[64, 64],
                num_detection_tokens=5, **_small)  # fmt: skip
picture_network("swin2sr", "Swin2SRForImageSuperResolution", "Swin2SRConfig", "reconstruction", ((1, 3, 32, 32), (2, 3, 32, 48)), "nhw",
                image_size=32, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=8, upscale=2)  # fmt: skip


@network("detr")
def _detr():
    import torch
    import transformers

    backbone = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], out_features=["stage4"])
    config = transformers.DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone,
                                     d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
                                     encoder_ffn_dim=64, decoder_ffn_dim=64, num_queries=7)  # fmt: skip
    module = transformers.DetrForObjectDetection(config)
    inputs = [{"pixel_values": torch.randn(shape)} for shape in ((1, 3, 64, 64), (2, 3, 96, 64))]
    return by_name(module, ["pixel_values"], "logits", "pred_boxes"), inputs, {"pixel_values": {0: "n", 2: "h", 3: "w"}}


@network("clip")
def _clip():
    import torch
    import transformers

    text = {"vocab_size": 100, "max_position_embeddings": 32, "eos_token_id": 99, "bos_token_id": 98, "pad_token_id": 97, **_small}
    config = transformers.CLIPConfig(text_config=text, vision_config={"image_size": 32, "patch_size": 8, **_small}, projection_dim=16)
    module = transformers.CLIPModel(config)
    names = ["input_ids", "attention_mask", "pixel_values"]
    inputs = [{**tokens((t, n)), "pixel_values": torch.randn(b, 3, 32, 32)} for t, n, b in ((2, 8, 1), (3, 10, 2))]
    axes = {"input_ids": {0: "texts", 1: "length"}, "attention_mask": {0: "texts", 1: "length"}, "pixel_values": {0: "images"}}
    return by_name(module, names, "logits_per_image", "text_embeds", "image_embeds"), inputs, axes


# Diffusion.
@network("unet2d")
def _unet():
    import diffusers
    import torch

    module = diffusers.UNet2DConditionModel(sample_size=16, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32,
                                            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), norm_num_groups=8,
                                            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"), attention_head_dim=8)  # fmt: skip
    names = ["sample", "timestep", "encoder_hidden_states"]
    inputs = [{"sample": torch.randn(b, 4, h, 16), "timestep": torch.tensor([10]), "encoder_hidden_states": torch.randn(b, n, 32)}
              for b, h, n in ((1, 16, 7), (2, 24, 9))]  # fmt: skip
    return by_name(module, names, "sample"), inputs, {"sample": {0: "n", 2: "h"}, "encoder_hidden_states": {0: "n", 1: "words"}}


@network("vae_decoder")
def _vae():
    import diffusers
    import torch

    module = diffusers.AutoencoderKL(block_out_channels=(16, 32), down_block_types=("DownEncoderBlock2D",) * 2, norm_num_groups=8,
                                     up_block_types=("UpDecoderBlock2D",) * 2, latent_channels=4, layers_per_block=1)  # fmt: skip

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, latent):
            return self.module.decode(latent, return_dict=False)[0]

    return Decoder(), [{"latent": torch.randn(b, 4, h, 8)} for b, h in ((1, 8), (2, 12))], {"latent": {0: "n", 2: "h"}}


@network("dit")
def _dit():
    import diffusers
    import torch

    module = diffusers.DiTTransformer2DModel(num_attention_heads=2, attention_head_dim=16, in_channels=4, num_layers=2, sample_size=8,
                                             patch_size=2, num_embeds_ada_norm=10, norm_num_groups=4)  # fmt: skip
    names = ["hidden_states", "timestep", "class_labels"]
    inputs = [{"hidden_states": torch.randn(b, 4, 8, 8), "timestep": torch.full((b,), 3), "class_labels": torch.full((b,), 2)} for b in (1, 2)]
    return by_name(module, names, "sample"), inputs, {name: {0: "n"} for name in names}


def load_all():
    """Registers the networks of the other file, which uses this one."""
    sys.modules.setdefault("export_networks", sys.modules[__name__])
    import more_networks  # noqa: F401


def export(name, path):
    """Writes a network's model and its inputs; returns nothing. Exits with 3 and a line where torch cannot."""
    import torch

    function, exporter = NETWORKS[name]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    module, inputs, axes = function()
    module.eval()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    first, names = inputs[0], list(inputs[0])
    with torch.no_grad():
        if exporter == "old":
            torch.onnx.export(module, tuple(first.values()), path, input_names=names, dynamic_axes=axes, dynamo=False, opset_version=17)
        else:
            shapes = tuple({axis: torch.export.Dim.AUTO for axis in axes.get(name, {})} for name in names)
            takes_any = any(p.kind == p.VAR_POSITIONAL for p in inspect.signature(module.forward).parameters.values())
            # Traced at the larger sizes: a size of 1 would be taken for a constant.
            torch.onnx.export(module, tuple(inputs[1].values()), path, input_names=names, dynamic_shapes=(shapes,) if takes_any else shapes,
                              dynamo=True, verbose=False)  # fmt: skip
    for i, feeds in enumerate(inputs):
        np.savez(f"{path}.{i}.npz", **{name: value.numpy() for name, value in feeds.items()})


def difference(got, want):
    """The largest difference, relative to the largest magnitude; infinite where shapes or what is not a number differ."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return np.inf
    if not want.size:
        return 0.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    if not np.array_equal(np.isfinite(got), np.isfinite(want)):
        return np.inf
    finite = np.isfinite(want)
    return float(np.abs(got - want)[finite].max(initial=0) / max(np.abs(want)[finite].max(initial=0), 1e-6))


def median_time(runs, seconds=0.4):
    """Medians of functions that are called in turn, so that what else the machine does disturbs them alike."""
    times = [[] for _ in runs]
    end = time.perf_counter() + seconds * len(runs)
    while len(times[0]) < 3 or (time.perf_counter() < end and len(times[0]) < 200):
        for run, list_ in zip(runs, times):
            start = time.perf_counter()
            run()
            list_.append(time.perf_counter() - start)
    return [float(np.median(list_)) for list_ in times]


def check(path, threads):
    """What became of an exported model: a line for the table, and whether it counts as a failure."""
    import onnx
    import onnxruntime

    import fathom

    shapes = [dict(np.load(f"{path}.{i}.npz")) for i in range(2)]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    try:
        reference = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        names = {info.name for info in reference.get_inputs()}
        expected, feeds = [], []
        for arrays in shapes:
            given = {name: array for name, array in arrays.items() if name in names}
            try:
                expected.append(reference.run(None, given))
                feeds.append(given)
            except Exception:
                continue  # the exporter fixed a size
        if not feeds:
            return "ONNX Runtime runs neither shape", False
    except Exception as error:
        return "ONNX Runtime refuses: " + " ".join(str(error).split())[:100], False
    start = time.process_time()  # of all threads: what else the machine does hardly matters
    try:
        artifact = fathom.compile(path)
    except fathom.Error as error:
        return "REFUSED " + " ".join(str(error).split())[:220], True
    seconds = time.process_time() - start
    session = fathom.Session(artifact, threads=threads)
    worst = 0.0
    for given, want in zip(feeds, expected):
        try:
            got = session.run(None, given)
        except fathom.Error as error:
            return "FAILS " + " ".join(str(error).split())[:220], True
        worst = max([worst, *(difference(a, np.asarray(b)) for a, b in zip(got, want, strict=True))])
    own, theirs = median_time([lambda: session.run(None, feeds[-1]), lambda: reference.run(None, feeds[-1])])
    nodes = len(onnx.load(path, load_external_data=False).graph.node)
    bad = worst > TOLERANCE
    return f"{'DIFFERS' if bad else 'agrees'} {worst:.1e}  {len(feeds)} shapes  ratio {theirs / own:.2f}  {nodes} nodes in {seconds:.1f} s of CPU time", bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--keep", help="a folder for the exported models, which are not exported again when they are there")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--export", help=argparse.SUPPRESS)
    parser.add_argument("--check", help=argparse.SUPPRESS)
    options = parser.parse_args()
    load_all()
    if options.export:
        return export(options.patterns[0], options.export)
    if options.check:
        line, bad = check(options.check, options.threads)
        print(line)
        return 1 if bad else 0
    chosen = [name for name in NETWORKS if not options.patterns or any(pattern in name for pattern in options.patterns)]
    if options.list:
        return print("\n".join(chosen))
    failures, width = [], max(map(len, chosen), default=0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.keep or temporary)
        folder.mkdir(exist_ok=True)
        for name in chosen:
            path = folder / (name.replace("/", ".") + ".onnx")
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
            # Each in processes of its own: what one leaves behind does not matter to the next.
            if not (folder / (path.name + ".1.npz")).exists():
                made = subprocess.run([sys.executable, __file__, name, "--export", str(path)], env=environment, capture_output=True, text=True)
                if made.returncode:
                    reason = [line for line in made.stderr.splitlines() if line.strip()][-1:] or ["no message"]
                    print(f"{name:{width}}  not exported: {reason[0][:120]}", flush=True)
                    continue
            checked = subprocess.run([sys.executable, __file__, "--check", str(path), "--threads", str(options.threads)], capture_output=True,
                                     text=True, env=environment)  # fmt: skip
            line = (checked.stdout.strip().splitlines() or [f"ended with {checked.returncode}: {checked.stderr.strip()[-200:]}"])[-1]
            print(f"{name:{width}}  {line}", flush=True)
            if checked.returncode:
                failures.append(name)
    print(f"{len(failures)} of {len(chosen)} failed" + (": " + ", ".join(failures) if failures else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
