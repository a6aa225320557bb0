"""Times schedules of a few products and convolutions on tensor cores, for the costs of block_contract: python bench/gpu/schedules.py OUT.json [--seconds N]

Needs the compiler, torch and a GPU on one machine, and ptxas. Every problem is compiled with the schedule that is chosen for it and with ones that
are drawn at random; results are compared with torch in float64, and torch's own time stands beside."""
import argparse
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import kernels
import prepare
import torch
from onnx import TensorProto, numpy_helper

KNOBS = ["block_m", "block_n", "block_k", "item_m", "item_n", "stages", "slices", "splits"]
BOUND = {"fp16": 2e-3, "tf32": 1e-3}


def halved(made):
    """The same model of 16-bit floats."""
    for info in [*made.graph.input, *made.graph.output]:
        info.type.tensor_type.elem_type = TensorProto.FLOAT16
    for tensor in made.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype("f2"), tensor.name))
    return made


def problems():
    layers = [(768, 768), (768, 3072), (3072, 768)]
    convolutions = [(1, 64, 56, 64, 3, 1), (1, 256, 14, 256, 3, 1), (1, 512, 7, 512, 3, 1), (1, 1024, 14, 256, 1, 1), (32, 256, 14, 256, 3, 1)]
    for precision in BOUND:
        for depth, columns in layers:
            yield precision, *prepare.product(f"l{depth}_{columns}", [1, 128, depth], [depth, columns])
        yield precision, *prepare.product("row_4096", [1, 4096], [4096, 4096])
        for sizes in convolutions:
            yield precision, *prepare.convolution(*sizes)


def candidates(precision):
    size, step = (2, 16) if precision == "fp16" else (4, 8)
    blocks = [(16, 32), (16, 64), (32, 32), (32, 64), (64, 32), (64, 64), (64, 128), (128, 64), (128, 128)]
    items = [(2, 4), (2, 8), (4, 4), (4, 8), (8, 4), (8, 8)]
    for (m, n), (im, jn), k, stages, slices, splits in itertools.product(blocks, items, (32, 64, 128), (2, 3, 4), (1, 2, 4), (1, 2, 4, 8)):
        if m % (8 * im) or n % (4 * jn) or k // slices % step or im * jn % (2 * slices * splits):
            continue
        local = stages * size * (m + n) * (k + 16) + (slices if slices * splits > 1 else 0) * m * n * 4
        if local <= 49152 and 64 <= m // im * (n // jn) * slices <= 512 and im * jn * k // slices <= 2048:
            yield m, n, k, im, jn, stages, slices, splits


class Compiler:
    def __init__(self, folder, target):
        self.folder, self.target = folder, target

    def __call__(self, path, precision, *more):
        words = ["fathom", "compile", path, "--target", self.target, "--precision", precision, "--quiet", "--db", "none", *more]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.splitlines()[0])
        return done.stdout

    def plan(self, precision, launch, text):
        """The plan of the model, and the schedule in it."""
        path = self.folder / f"{precision}_{launch['name']}.onnx"
        path.write_bytes(text)
        plan = self(path, precision, "--emit", "plan")
        return plan, [int(re.search(rf" {knob}: +(\d+)", plan)[1]) for knob in KNOBS]

    def kernel(self, precision, launch, text, plan, schedule):
        path = self.folder / ("_".join(map(str, (precision, launch["name"], *schedule))) + ".onnx")
        path.write_bytes(text)
        for knob, value in zip(KNOBS, schedule):
            plan = re.sub(rf"( {knob}: +)\d+", rf"\g<1>{value}", plan)
        path.with_suffix(".plan").write_text(plan)
        parts = prepare.NOTE.split(self(path, precision, "--emit", "asm", "--plan", path.with_suffix(".plan")))[1:]
        [(entry, groups, items, scratch, code)] = [part for part in zip(*[iter(parts)] * 5) if re.match("fathom_(Conv|MatMul)", part[0])]
        ptx, cubin = path.with_suffix(".ptx"), path.with_suffix(".cubin")
        ptx.write_text(code)
        done = subprocess.run(["ptxas", "-arch=sm_90", "-v", "-o", cubin, ptx], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        registers = int(re.search(r"Used (\d+) registers", done.stderr)[1])
        return launch | {"ptx": cubin.name, "entry": entry, "groups": int(groups), "items": int(items), "scratch": int(scratch), "registers": registers}


class Peer:
    """Operands of a problem, its result in float64, and torch's time."""

    def __init__(self, precision, launch):
        kind = torch.float16 if precision == "fp16" else torch.float32
        generator = torch.Generator("cuda").manual_seed(1)
        self.operands = [torch.randn(*shape, device="cuda", generator=generator).to(kind) for shape in launch["shapes"][:2]]
        others, self.want = kernels.torch_kernels(launch, self.operands)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        torch.backends.cudnn.benchmark = True
        self.us = min(kernels.times([kernels.captured(other) for other in others]))

    def measure(self, folder, launch):
        result = torch.full(launch["shapes"][2], float("nan"), device="cuda", dtype=self.operands[0].dtype)
        fault, scratch = torch.zeros(1, dtype=torch.int32, device="cuda"), torch.zeros(16, dtype=torch.uint8, device="cuda")
        kernel = kernels.Kernel(folder, launch)
        run = lambda: kernel(*self.operands, result, fault, scratch)
        run()
        torch.cuda.synchronize()
        error = float((result.double() - self.want).norm() / self.want.norm())
        [us] = kernels.times([kernels.captured(run)])
        return {"us": us, "error": error, **{key: launch[key] for key in ("groups", "items", "registers")}}


def told(name, rows):
    good = sorted((row for row in rows if "us" in row), key=lambda row: row["us"])
    [chosen] = [row for row in rows if row["is_chosen"]]
    show = lambda row: f"{row.get('us', float('nan')):.2f} {row['schedule']} {row.get('problem', '')}"
    print(*name, f"torch {good[0]['torch_us']:.2f} chosen {show(chosen)} best", *map(show, good[:3]), "worst error", max(row["error"] for row in good), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--target", default="cuda:h200")
    parser.add_argument("--seconds", type=float, default=200, help="begin to measure no more after so long")
    parser.add_argument("--many", type=int, default=60, help="schedules of each problem")
    arguments = parser.parse_args()
    end, chance, jobs, peers, rows = time.time() + arguments.seconds, random.Random(5), [], {}, {}
    kernels.REPLAYS = 7
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(name)
        compiler = Compiler(folder, arguments.target)
        for precision, launch, made in problems():
            text = (halved(made) if precision == "fp16" else made).SerializeToString()
            plan, chosen = compiler.plan("fp32" if precision == "fp16" else precision, launch, text)
            all = list(candidates(precision))
            for schedule in [chosen, *chance.sample(all, min(len(all), arguments.many))]:
                job = pool.submit(compiler.kernel, "fp32" if precision == "fp16" else precision, launch, text, plan, schedule)
                jobs.append((precision, launch, schedule, schedule is chosen, job))
        for precision, launch, schedule, is_chosen, job in jobs:
            row = {"precision": precision, "name": launch["name"], "schedule": list(schedule), "is_chosen": is_chosen}
            key = precision, launch["name"]
            try:
                made = job.result()
                if time.time() > end:
                    break
                if key not in peers:
                    peers[key] = Peer(precision, launch)
                row |= peers[key].measure(folder, made) | {"torch_us": peers[key].us}
                if not row["error"] < BOUND[precision]:
                    row["problem"] = "wrong"
            except RuntimeError as error:
                row["problem"] = str(error)[:200]
            rows.setdefault(key, []).append(row)
            arguments.out.write_text("[\n" + ",\n".join(json.dumps(row) for of in rows.values() for row in of) + "\n]\n")
    for key, of in rows.items():
        told(key, of)
    wrong = [row for of in rows.values() for row in of if row.get("problem") == "wrong"]
    print(f"{sum(map(len, rows.values()))} schedules, {len(wrong)} wrong")


if __name__ == "__main__":
    main()
