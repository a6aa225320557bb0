"""More networks for export_networks.py: detection, video and flow of torchvision, timm, transformers, diffusers and torchaudio."""
from export_networks import Pick, by_name, image_network, images, network, picture_network, text_network, timm_model, tokens, torchvision_model

ONE = ((1, 3, 64, 64), (2, 3, 64, 64))

# Classification, segmentation, video and flow of torchvision.
for _name, _options in (
    ("mobilenet_v2", {}),
    ("googlenet", {"aux_logits": False, "init_weights": False}),
    ("inception_v3", {"aux_logits": False, "init_weights": False}),
    ("efficientnet_v2_s", {}),
    ("resnext50_32x4d", {}),
    ("convnext_tiny", {}),
    ("regnet_x_400mf", {}),
    ("shufflenet_v2_x1_5", {}),
):
    _shapes = ((1, 3, 96, 96), (2, 3, 128, 96)) if _name == "inception_v3" else ((1, 3, 64, 64), (2, 3, 96, 64))
    image_network(f"torchvision_{_name}", torchvision_model("", _name, num_classes=10, **_options), shapes=_shapes)
image_network("torchvision_swin_v2_t", torchvision_model("", "swin_v2_t", num_classes=10), dims="n", shapes=ONE)
for _name in ("fcn_resnet50", "deeplabv3_resnet50"):
    image_network(f"torchvision_{_name}",
                  lambda name=_name: Pick(torchvision_model("segmentation", name, weights_backbone=None, num_classes=5)(), "out"),
                  exporters=("old",))  # fmt: skip


def video_network(name, shapes, **options):
    @network(f"torchvision_{name}")
    def build():
        import torch

        return torchvision_model("video", name, num_classes=5, **options)(), [{"image": torch.randn(s)} for s in shapes], {"image": {0: "n"}}


video_network("mc3_18", ((1, 3, 8, 32, 32), (2, 3, 8, 32, 32)))
video_network("r2plus1d_18", ((1, 3, 8, 32, 32), (2, 3, 8, 32, 32)))
video_network("swin3d_t", ((1, 3, 8, 64, 64), (2, 3, 8, 64, 64)))


@network("torchvision_raft_small", exporters=("old", "new"))
def _raft():
    import torch
    import torchvision

    module = torchvision.models.optical_flow.raft_small(weights=None)

    class Flow(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, first, second):
            return self.module(first, second, num_flow_updates=2)[-1]

    return Flow(), [{name: torch.randn(1, 3, 128, 128) for name in ("first", "second")} for _ in range(2)], {}


def spread(module, image):
    """Scales every layer's weights so that what it gives for the image has deviation 1, as training does.

    Untrained, all scores of a detector are equal within rounding, or all 1, and rounding decides what it finds.
    """
    import torch

    def scale(layer, inputs, output):
        hooks.pop(layer).remove()  # a head shared by several levels is scaled at the first
        deviation = output.std()
        if not (deviation > 0 and deviation.isfinite()):
            return output
        layer.weight.div_(deviation)
        return layer.forward(*inputs)

    layers = [layer for layer in module.modules() if isinstance(layer, (torch.nn.Conv2d, torch.nn.ConvTranspose2d, torch.nn.Linear))]
    hooks = {layer: layer.register_forward_hook(scale) for layer in layers}
    with torch.no_grad():
        module.eval()([image])
    for hook in hooks.values():
        hook.remove()


def detector(name, size=128, **options):
    """A detector of one image: boxes, scores, labels, and what else it finds."""

    @network(f"torchvision_{name}", exporters=("old",))
    def build():
        import torch
        import torchvision

        module = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, num_classes=5, **options)
        inputs = images((1, 3, size, size), (1, 3, size, size))
        spread(module, inputs[0]["image"][0])

        class One(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = module

            def forward(self, image):
                return tuple(self.module([image[0]])[0].values())

        return One(), inputs, {}


detector("retinanet_resnet50_fpn", min_size=128, max_size=128)
detector("retinanet_resnet50_fpn_v2", min_size=128, max_size=128)
detector("fcos_resnet50_fpn", min_size=128, max_size=128, score_thresh=0.05)
detector("fasterrcnn_mobilenet_v3_large_320_fpn", min_size=128, max_size=128)
detector("keypointrcnn_resnet50_fpn", min_size=128, max_size=128, num_keypoints=5, box_detections_per_img=5)
detector("ssd300_vgg16", size=300)

# timm: those that take other sizes, and those that do not.
for _name in (
    "ecaresnet26t", "gcresnet33ts", "eca_nfnet_l0", "nf_resnet26", "efficientnet_lite0", "mixnet_s", "hardcorenas_a", "fbnetc_100",
    "spnasnet_100", "gernet_s", "selecsls42b", "dpn48b", "resnetv2_50", "ghostnetv2_100", "inception_v4", "hgnetv2_b0",
    "repghostnet_050", "fasternet_t0", "starnet_s1", "mambaout_femto", "rdnet_tiny", "legacy_seresnet18", "xception41", "tresnet_m",
    "caformer_s18", "swiftformer_xs", "shvit_s1", "nextvit_small", "resnetaa50", "vit_tiny_r_s16_p8_224",
):  # fmt: skip
    _fixed = _name in ("vit_tiny_r_s16_p8_224",)
    image_network(f"timm_{_name}", timm_model(_name, **({"img_size": 64} if _fixed else {})), dims="n" if _fixed else "nhw",
                  shapes=ONE if _fixed else ((1, 3, 96, 96), (2, 3, 128, 96)))  # fmt: skip
for _name, _size, _options in (
    ("botnet26t_256", 256, {}),
    ("halonet26t", 256, {}),
    ("lambda_resnet26t", 256, {}),
    ("sequencer2d_s", 224, {}),
    ("tnt_s_patch16_224", 224, {"depth": 2}),
    ("convit_tiny", 64, {"img_size": 64, "depth": 4}),
    ("coat_lite_tiny", 64, {"img_size": 64}),
    ("mvitv2_tiny", 64, {"img_size": 64}),
    ("gcvit_xxtiny", 224, {}),
    ("efficientvit_m0", 224, {}),
    ("vitamin_small_224", 64, {"img_size": 64}),
    ("naflexvit_base_patch16_gap", 64, {}),
):
    image_network(f"timm_{_name}", timm_model(_name, **_options), dims="n", shapes=((1, 3, _size, _size), (2, 3, _size, _size)))

# Text.
_small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
_causal = {"key": "logits", "use_cache": False, "num_key_value_heads": 2, **_small}
text_network("bert", "BertModel", "BertConfig", **_small)
text_network("distilbert", "DistilBertModel", "DistilBertConfig", dim=32, n_layers=2, n_heads=4, hidden_dim=64)
text_network("modernbert", "ModernBertModel", "ModernBertConfig", pad_token_id=0, cls_token_id=1, sep_token_id=2, eos_token_id=2, bos_token_id=1, **_small)
text_network("rembert", "RemBertModel", "RemBertConfig", input_embedding_size=16, **_small)
text_network("esm", "EsmModel", "EsmConfig", pad_token_id=1, mask_token_id=2, position_embedding_type="rotary", **_small)
text_network("ibert", "IBertModel", "IBertConfig", **_small)
text_network("xlm", "XLMModel", "XLMConfig", emb_dim=32, n_layers=2, n_heads=4)
text_network("gptj", "GPTJForCausalLM", "GPTJConfig", key="logits", n_embd=32, n_layer=2, n_head=4, rotary_dim=4, use_cache=False)
text_network("gpt_neo", "GPTNeoForCausalLM", "GPTNeoConfig", key="logits", hidden_size=32, num_layers=2, num_heads=4, use_cache=False,
             attention_types=[[["global", "local"], 1]], window_size=8)  # fmt: skip
text_network("codegen", "CodeGenForCausalLM", "CodeGenConfig", key="logits", n_embd=32, n_layer=2, n_head=4, rotary_dim=4, use_cache=False)
text_network("falcon", "FalconForCausalLM", "FalconConfig", key="logits", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, use_cache=False)
text_network("mpt", "MptForCausalLM", "MptConfig", key="logits", d_model=32, n_layers=2, n_heads=4, use_cache=False)
text_network("stablelm", "StableLmForCausalLM", "StableLmConfig", **_causal)
text_network("starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config", **_causal)
text_network("olmo2", "Olmo2ForCausalLM", "Olmo2Config", **_causal)
text_network("gemma2", "Gemma2ForCausalLM", "Gemma2Config", head_dim=8, sliding_window=8, **_causal)
text_network("qwen3", "Qwen3ForCausalLM", "Qwen3Config", head_dim=8, **_causal)
text_network("phi3", "Phi3ForCausalLM", "Phi3Config", pad_token_id=0, **_causal)
text_network("granite", "GraniteForCausalLM", "GraniteConfig", **_causal)
text_network("mixtral", "MixtralForCausalLM", "MixtralConfig", num_local_experts=4, **_causal)
text_network("mamba", "MambaForCausalLM", "MambaConfig", key="logits", mask=False, hidden_size=32, num_hidden_layers=2, state_size=4,
             use_cache=False)  # fmt: skip
text_network("umt5_encoder", "UMT5EncoderModel", "UMT5Config", d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
text_network("longt5_encoder", "LongT5EncoderModel", "LongT5Config", d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, local_radius=4,
             encoder_attention_type="local")  # fmt: skip


def translator(name, model, config, **options):
    """An encoder and a decoder."""

    @network(name)
    def build():
        import torch
        import transformers

        given = {"vocab_size": 100, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
                 "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "use_cache": False, **options}  # fmt: skip
        module = getattr(transformers, model)(getattr(transformers, config)(**given))
        names = ["input_ids", "attention_mask", "decoder_input_ids"]
        inputs = [{**tokens((b, n)), "decoder_input_ids": torch.randint(5, 100, (b, m))} for b, n, m in ((1, 16, 5), (2, 24, 7))]
        axes = {name: {0: "batch", 1: "length" if i < 2 else "written"} for i, name in enumerate(names)}
        return by_name(module, names, "last_hidden_state"), inputs, axes


translator("marian", "MarianModel", "MarianConfig", pad_token_id=0, decoder_start_token_id=0, max_position_embeddings=64)
translator("pegasus", "PegasusModel", "PegasusConfig", max_position_embeddings=64)
translator("m2m_100", "M2M100Model", "M2M100Config")
translator("blenderbot", "BlenderbotModel", "BlenderbotConfig", max_position_embeddings=64)


# Sound.
def sound_network(name, model, config, shapes=((1, 1600), (2, 2400)), key="last_hidden_state", feature="input_values", **options):
    @network(name)
    def build():
        import torch
        import transformers

        module = getattr(transformers, model)(getattr(transformers, config)(**options))
        return by_name(module, [feature], key), [{feature: torch.randn(s)} for s in shapes], {feature: {0: "batch", len(shapes[0]) - 1: "samples"}}


_wave = {"conv_dim": (32,) * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4, **_small}
sound_network("wav2vec2_ctc", "Wav2Vec2ForCTC", "Wav2Vec2Config", key="logits", vocab_size=30, **_wave)
sound_network("wav2vec2_conformer", "Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig", conv_depthwise_kernel_size=7, **_wave)
sound_network("sew", "SEWModel", "SEWConfig", **{**_wave, "conv_dim": (32,) * 13})
sound_network("data2vec_audio", "Data2VecAudioModel", "Data2VecAudioConfig", **{**_wave, "num_conv_pos_embeddings": 2, "conv_pos_kernel_size": 7})
sound_network("mimi", "MimiModel", "MimiConfig", key="audio_values", shapes=((1, 1, 3840), (2, 1, 5760)), num_filters=8, codebook_size=32,
              codebook_dim=16, vector_quantization_hidden_dimension=16, num_quantizers=4, upsample_groups=32, num_key_value_heads=4, use_cache=False, **_small)  # fmt: skip
sound_network("dac", "DacModel", "DacConfig", key="audio_values", shapes=((1, 1, 1024), (2, 1, 2048)), encoder_hidden_size=8,
              decoder_hidden_size=32, codebook_size=32, n_codebooks=2, downsampling_ratios=[2, 4], upsampling_ratios=[4, 2])  # fmt: skip


def torchaudio_network(name, make, shapes, names=("sound",), dims=None, exporters=("old", "new")):
    @network(f"torchaudio_{name}", exporters)
    def build():
        import torch

        inputs = [{key: torch.randn(shape) for key, shape in zip(names, given)} for given in shapes]
        return make(), inputs, {key: dict(axes) for key, axes in zip(names, dims or [{0: "batch"}] * len(names))}


def _torchaudio(name, **options):
    def make():
        import torchaudio

        return getattr(torchaudio.models, name)(**options)

    return make


torchaudio_network("wav2letter", _torchaudio("Wav2Letter", num_classes=20, input_type="mfcc", num_features=13), (((1, 13, 200),), ((2, 13, 300),)),
                   dims=[{0: "batch", 2: "frames"}])  # fmt: skip
torchaudio_network("deepspeech", _torchaudio("DeepSpeech", n_feature=20, n_hidden=64, n_class=10), (((1, 1, 30, 20),), ((2, 1, 45, 20),)),
                   dims=[{0: "batch", 2: "frames"}])  # fmt: skip
torchaudio_network("conv_tasnet", _torchaudio("ConvTasNet", enc_num_feats=32, msk_num_feats=16, msk_num_hidden_feats=32, msk_num_layers=3,
                   msk_num_stacks=2), (((1, 1, 1600),), ((2, 1, 2400),)), dims=[{0: "batch", 2: "samples"}])  # fmt: skip
torchaudio_network("wavernn", _torchaudio("WaveRNN", upsample_scales=[4, 2], n_classes=16, hop_length=8, n_res_block=2, n_rnn=32, n_fc=32,
                   n_freq=20, n_hidden=16, n_output=16, kernel_size=5), (((1, 1, 48), (1, 1, 20, 10)), ((2, 1, 48), (2, 1, 20, 10))),
                   names=("sound", "spectrum"))  # fmt: skip


# Images of transformers.
_pictures = ((1, 3, 64, 64), (2, 3, 64, 64))
_vit = {"image_size": 64, "patch_size": 16, **_small}
picture_network("hf_beit", "BeitModel", "BeitConfig", "last_hidden_state", _pictures, "n", use_relative_position_bias=True, **_vit)
picture_network("hf_mobilenet_v1", "MobileNetV1Model", "MobileNetV1Config", "last_hidden_state", ((1, 3, 64, 64), (2, 3, 96, 64)), "nhw", depth_multiplier=0.25)
picture_network("hf_regnet", "RegNetModel", "RegNetConfig", "last_hidden_state", ((1, 3, 64, 64), (2, 3, 96, 64)), "nhw", embedding_size=16,
                hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 2, 1], groups_width=8)  # fmt: skip
picture_network("hf_pvt", "PvtModel", "PvtConfig", "last_hidden_state", _pictures, "n", image_size=64, depths=[1, 1, 1, 1],
                hidden_sizes=[16, 32, 48, 64], num_attention_heads=[1, 2, 3, 4])  # fmt: skip
picture_network("hf_swinv2", "Swinv2Model", "Swinv2Config", "last_hidden_state", _pictures, "n", image_size=64, embed_dim=16, depths=[1, 1],
                num_heads=[2, 4], window_size=4)  # fmt: skip
picture_network("hf_upernet", "UperNetForSemanticSegmentation", "UperNetConfig", "logits", ((1, 3, 64, 64), (2, 3, 96, 64)), "nhw",
                hidden_size=16, num_labels=5, auxiliary_channels=16, auxiliary_in_channels=48,
                backbone_config={"model_type": "convnext", "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1],
                                 "out_features": ["stage1", "stage2", "stage3", "stage4"]})  # fmt: skip
picture_network("hf_depth_anything", "DepthAnythingForDepthEstimation", "DepthAnythingConfig", "predicted_depth", ((1, 3, 56, 56), (2, 3, 70, 56)),
                "nhw", neck_hidden_sizes=[16, 24, 32, 32], fusion_hidden_size=16, head_hidden_size=8, reassemble_hidden_size=32,
                backbone_config={"model_type": "dinov2", "image_size": 56, "patch_size": 14, "hidden_size": 32, "num_hidden_layers": 4,
                                 "num_attention_heads": 4, "out_features": ["stage1", "stage2", "stage3", "stage4"], "reshape_hidden_states": False,
                                 "apply_layernorm": True})  # fmt: skip
picture_network("hf_vitpose", "VitPoseForPoseEstimation", "VitPoseConfig", "heatmaps", ((1, 3, 64, 64), (2, 3, 64, 64)), "n",
                backbone_config={"model_type": "vitpose_backbone", "image_size": [64, 64], "patch_size": [16, 16], "hidden_size": 32,
                                 "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "out_features": ["stage2"]})  # fmt: skip
picture_network("hf_sam_encoder", "SamVisionModel", "SamVisionConfig", "last_hidden_state", _pictures, "n", image_size=64, patch_size=16,
                window_size=3, global_attn_indexes=[1], output_channels=16, mlp_dim=64, hidden_size=32, num_hidden_layers=2,
                num_attention_heads=4, num_pos_feats=16)  # fmt: skip


def clip_network(name, model, config, **options):
    @network(name)
    def build():
        import torch
        import transformers

        module = getattr(transformers, model)(getattr(transformers, config)(**options))
        return by_name(module, ["pixel_values"], "last_hidden_state"), [{"pixel_values": torch.randn(b, 4, 3, 32, 32)} for b in (1, 2)], {"pixel_values": {0: "n"}}


clip_network("videomae", "VideoMAEModel", "VideoMAEConfig", image_size=32, patch_size=8, num_frames=4, **_small)
clip_network("timesformer", "TimesformerModel", "TimesformerConfig", image_size=32, patch_size=8, num_frames=4, **_small)
clip_network("vivit", "VivitModel", "VivitConfig", image_size=32, num_frames=4, tubelet_size=[2, 8, 8], **_small)


@network("siglip")
def _siglip():
    import torch
    import transformers

    text = {"vocab_size": 100, "max_position_embeddings": 32, "eos_token_id": 99, "bos_token_id": 98, "pad_token_id": 97, **_small}
    config = transformers.SiglipConfig(text_config=text, vision_config={"image_size": 32, "patch_size": 8, **_small})
    inputs = [{"input_ids": torch.randint(5, 90, (t, 8)), "pixel_values": torch.randn(b, 3, 32, 32)} for t, b in ((2, 1), (3, 2))]
    return by_name(transformers.SiglipModel(config), ["input_ids", "pixel_values"], "logits_per_image", "text_embeds"), inputs, {
        "input_ids": {0: "texts"}, "pixel_values": {0: "images"}}  # fmt: skip


def _resnet_backbone(*features):
    return {"model_type": "resnet", "embedding_size": 16, "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1], "out_features": list(features)}


@network("deformable_detr")
def _deformable():
    import torch
    import transformers

    config = transformers.DeformableDetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                                               backbone_config=_resnet_backbone("stage2", "stage3", "stage4"), d_model=32, encoder_layers=1,
                                               decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                                               decoder_ffn_dim=64, num_queries=7, disable_custom_kernels=True)  # fmt: skip
    module = transformers.DeformableDetrForObjectDetection(config)
    inputs = [{"pixel_values": torch.randn(b, 3, 128, 128)} for b in (1, 2)]
    return by_name(module, ["pixel_values"], "logits", "pred_boxes"), inputs, {"pixel_values": {0: "n"}}


@network("rt_detr")
def _rt_detr():
    import torch
    import transformers

    backbone = {"model_type": "rt_detr_resnet", "embedding_size": 16, "hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1], "layer_type": "basic",
                "out_features": ["stage2", "stage3", "stage4"]}  # fmt: skip
    config = transformers.RTDetrConfig(backbone_config=backbone, encoder_hidden_dim=32, encoder_in_channels=[32, 48, 64], encoder_ffn_dim=64,
                                       d_model=32, decoder_in_channels=[32, 32, 32], decoder_ffn_dim=64, num_queries=10, decoder_layers=2,
                                       encoder_attention_heads=4, decoder_attention_heads=4)  # fmt: skip
    module = transformers.RTDetrForObjectDetection(config)
    inputs = [{"pixel_values": torch.randn(b, 3, 64, 64)} for b in (1, 2)]
    return by_name(module, ["pixel_values"], "logits", "pred_boxes"), inputs, {"pixel_values": {0: "n"}}


# Diffusion.
def diffuser(name, model, make_inputs, key="sample", axes=None, exporters=("old", "new"), **options):
    @network(name, exporters)
    def build():
        import diffusers

        inputs = [make_inputs(b) for b in (1, 2)]
        names = list(inputs[0])
        return by_name(getattr(diffusers, model)(**options), names, key), inputs, axes or {name: {0: "n"} for name in names}


def _noise(*shape, **more):
    def make(b):
        import torch

        return {"sample": torch.randn(b, *shape), "timestep": torch.full((b,), 10)} | {key: torch.randn(b, *size) for key, size in more.items()}

    return make


diffuser("unet2d_plain", "UNet2DModel", _noise(3, 16, 16), sample_size=16, block_out_channels=(16, 32), layers_per_block=1, norm_num_groups=8,
         down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=8)  # fmt: skip
diffuser("unet3d", "UNet3DConditionModel", _noise(4, 4, 8, 8, encoder_hidden_states=(5, 32)), sample_size=8, block_out_channels=(16, 32),
         layers_per_block=1, norm_num_groups=8, cross_attention_dim=32, attention_head_dim=8,
         down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"), up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"))  # fmt: skip
diffuser("vq_model", "VQModel", lambda b: {"sample": __import__("torch").randn(b, 3, 16, 16)}, block_out_channels=(16, 32), norm_num_groups=8,
         down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, num_vq_embeddings=32)  # fmt: skip
diffuser("vae_tiny", "AutoencoderTiny", lambda b: {"sample": __import__("torch").randn(b, 3, 32, 32)}, encoder_block_out_channels=(16, 16),
         decoder_block_out_channels=(16, 16), num_encoder_blocks=(1, 2), num_decoder_blocks=(2, 1))  # fmt: skip


@network("sd3_transformer")
def _sd3():
    import diffusers
    import torch

    module = diffusers.SD3Transformer2DModel(sample_size=16, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=8,
                                             num_attention_heads=4, joint_attention_dim=32, caption_projection_dim=32,
                                             pooled_projection_dim=16, out_channels=4, pos_embed_max_size=16)  # fmt: skip
    names = ["hidden_states", "encoder_hidden_states", "pooled_projections", "timestep"]
    inputs = [{"hidden_states": torch.randn(b, 4, 16, 16), "encoder_hidden_states": torch.randn(b, 5, 32),
               "pooled_projections": torch.randn(b, 16), "timestep": torch.full((b,), 3)} for b in (1, 2)]  # fmt: skip
    return by_name(module, names, "sample"), inputs, {name: {0: "n"} for name in names}


@network("pixart_transformer")
def _pixart():
    import diffusers
    import torch

    module = diffusers.PixArtTransformer2DModel(num_attention_heads=4, attention_head_dim=8, in_channels=4, num_layers=2, sample_size=16,
                                                cross_attention_dim=32, caption_channels=16, norm_num_groups=4, use_additional_conditions=False)  # fmt: skip
    names = ["hidden_states", "encoder_hidden_states", "timestep"]
    inputs = [{"hidden_states": torch.randn(b, 4, 16, 16), "encoder_hidden_states": torch.randn(b, 5, 16), "timestep": torch.full((b,), 3)}
              for b in (1, 2)]  # fmt: skip
    return by_name(module, names, "sample"), inputs, {name: {0: "n"} for name in names}


@network("autoencoder_oobleck")
def _oobleck():
    import diffusers
    import torch

    module = diffusers.AutoencoderOobleck(encoder_hidden_size=8, downsampling_ratios=[2, 4], channel_multiples=[1, 2], decoder_channels=8,
                                          decoder_input_channels=4, audio_channels=1)  # fmt: skip

    class Halves(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.module = module

        def forward(self, sound):
            return self.module.decode(self.module.encode(sound).latent_dist.mode()).sample

    return Halves(), [{"sound": torch.randn(b, 1, n)} for b, n in ((1, 256), (2, 512))], {"sound": {0: "n", 2: "samples"}}
