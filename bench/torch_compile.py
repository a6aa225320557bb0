#!/usr/bin/env python3
"""Times networks under torch.compile with this backend beside Inductor, eager PyTorch and ONNX Runtime, in turns in one process.

    torch_compile.py [NETWORK ...] [--threads N] [--rounds N] [--json FILE]

Weights are random, inputs of the sizes that the networks are used at. A time is the tenth percentile of all runs, so that others on the machine
matter little. A ratio is the other's time over Fathom's: above 1 Fathom is faster. Inductor freezes weights, so that it may pack them as well. Results
are compared with eager PyTorch's first. Runs in .venv-torch, which `./dev bench torch` installs.
"""
import argparse
import json
import math
import tempfile

import numpy as np
import onnxruntime
import torch
import torch._inductor.config
from timing import positive, quantiles, turn, wall_times

import fathom.torch

TOLERANCE = 2e-3  # of the largest magnitude: random weights without training amplify rounding


def image(name, size=224):
    def make():
        import torchvision

        return getattr(torchvision.models, name)(weights=None), (torch.randn(1, 3, size, size),)

    return make


def text(model, config, **sizes):
    def make():
        import transformers

        module = getattr(transformers, model)(getattr(transformers, config)(**sizes))
        module.config.return_dict = False
        return module, (torch.randint(0, 1000, (1, 128)),)

    return make


NETWORKS = {
    "resnet18": image("resnet18"),
    "resnet50": image("resnet50"),
    "mobilenet_v3_large": image("mobilenet_v3_large"),
    "efficientnet_b0": image("efficientnet_b0"),
    "squeezenet1_1": image("squeezenet1_1"),
    "vit_b_16": image("vit_b_16"),
    "bert_6": text("BertModel", "BertConfig", num_hidden_layers=6),
    "gpt2_6": text("GPT2Model", "GPT2Config", n_layer=6, use_cache=False),
}


def first(result):
    return result if isinstance(result, torch.Tensor) else first(next(iter(result.values()) if hasattr(result, "values") else iter(result)))


def with_onnxruntime(module, inputs, threads):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.onnx"
        torch.onnx.export(module, inputs, dynamo=True, verbose=False).save(path, external_data=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 4
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {info.name: value.numpy() for info, value in zip(session.get_inputs(), inputs, strict=True)}
    return lambda: torch.from_numpy(session.run(None, feed)[0])


def with_backend(module, inputs, name, options=None):
    torch._dynamo.reset()
    compiled = torch.compile(module, backend=name, options=options, dynamic=False)
    return lambda: first(compiled(*inputs))


def measure(name, threads, rounds):
    torch.manual_seed(0)
    module, inputs = NETWORKS[name]()
    module.eval()
    sides = {"eager": lambda: first(module(*inputs))}
    want = sides["eager"]()
    for side, make in (
        ("fathom", lambda: with_backend(module, inputs, "fathom", {"threads": threads})),
        ("inductor", lambda: with_backend(module, inputs, "inductor")),
        ("onnxruntime", lambda: with_onnxruntime(module, inputs, threads)),
    ):
        try:
            run = make()
            error = float((run() - want).abs().max() / want.abs().max())
        except Exception as reason:  # whatever another library raises
            print(f"{name}: {side} is left out: {str(reason).strip().splitlines()[0][:120]}", flush=True)
            continue
        assert error < TOLERANCE, f"{name}: {side} differs by {error}"
        sides[side] = run
    times = {side: [] for side in sides}
    for _ in range(rounds):
        for side, run in sides.items():
            times[side] += wall_times(turn(run))
    return {side: quantiles(found) for side, found in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=f"of {', '.join(NETWORKS)}; without one all")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=7)
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    for name in arguments.networks:
        if name not in NETWORKS:
            parser.error(f"there is no network {name}; known are {', '.join(NETWORKS)}")
    torch.set_num_threads(arguments.threads)
    torch._inductor.config.freezing = True
    others, results, ratios = ("eager", "inductor", "onnxruntime"), {}, {}
    print(f"{'network':20} {'fathom ms':>10}" + "".join(f"{other + ' ms':>16} {'ratio':>6}" for other in others), flush=True)
    with torch.no_grad():
        for name in arguments.networks or NETWORKS:
            results[name] = found = measure(name, arguments.threads, arguments.rounds)
            if "fathom" not in found:
                continue
            own = found["fathom"]["p10"]
            row = f"{name:20} {own:10.2f}"
            for other in others:
                if other in found:
                    ratios.setdefault(other, []).append(found[other]["p10"] / own)
                    row += f"{found[other]['p10']:16.2f} {ratios[other][-1]:6.2f}"
                else:
                    row += f"{'':16} {'':6}"
            print(row, flush=True)
    for other, found in ratios.items():
        print(f"geometric mean over {other}: {math.exp(np.mean(np.log(found))):.2f} of {len(found)} networks")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"threads": arguments.threads, "torch": torch.__version__, "milliseconds": results}, file, indent=1)


if __name__ == "__main__":
    main()
