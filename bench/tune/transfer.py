#!/usr/bin/env python3
"""What schedules of other models gain, beside what tuning itself gains and takes.

    transfer.py [MODEL ...] [--all] [--trials N] [--pool] [--threads N] [--rounds N] [--db FILE]

All models are tuned first, each with N candidates of a kernel; the database stays, so that a study that was interrupted goes on, and what tuning
took is added up over its parts. Then each model gets the schedules of the model that the heuristic chooses among the others, which is printed with
its scores; with --pool those of all others, too. A model's artifacts take turns in one process. Without a database: off and draft.

    gain over BASE           time(BASE) / time(mode)
    share of the full gain   (time(off) - time(transfer)) / (time(off) - time(tuned)); the same over draft, where that is slower than tuned
    share of the time        seconds(transfer) / seconds(tuned), both with comparing models in place

The thesis on transfer-tuning has 11 models, at 20000 trials each; --all are these (BERT and MobileBERT with 256 tokens).
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from timing import positive, quantiles, times_in_turns  # noqa: E402
from zoo import BUILD, is_model, model_file, results_agree  # noqa: E402

import fathom  # noqa: E402
from fathom.inputs import random_inputs  # noqa: E402

THESIS = {
    "ResNet18": "resnet18",
    "ResNet50": "resnet50",
    "AlexNet": "alexnet",
    "VGG-16": "vgg16",
    "MobileNetV2": "mobilenet_v2",
    "EfficientNetB0": "efficientnet_b0",
    "EfficientNetB4": "efficientnet_b4",
    "GoogLeNet": "googlenet",
    "MnasNet1.0": "mnasnet1_0",
    "BERT": "bert_base_256",
    "MobileBERT": "mobilebert_256",
}
SMALL = "mobilenet_v2 mnasnet1_0 wrn_40_2_g8 wrn_40_2_g4".split()


class Study:
    def __init__(self, arguments):
        self.arguments = arguments
        self.records = arguments.db.with_suffix(".json")
        self.seconds = json.loads(self.records.read_text()) if self.records.exists() else {}
        arguments.db.parent.mkdir(parents=True, exist_ok=True)

    def run(self, name, mode, database, plan):
        """What the tool tells of a model that it tuned, and the seconds that took."""
        start = time.perf_counter()
        words = ["tune", model_file(name), "--tune", mode, "--tune-threads", str(self.arguments.threads), "--db", database, "-o", plan, "--json", "-q"]
        done = subprocess.run([BUILD / "bin/fathom", *map(str, words)], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{name}: fathom {' '.join(map(str, words))} ended with {done.returncode}")
        return json.loads(done.stdout), time.perf_counter() - start

    def tune(self, name, plan):
        """Tunes a model and gives its seconds, of this and of all earlier runs: what is known already takes no time again."""
        _, seconds = self.run(name, f"measure:{self.arguments.trials}", self.arguments.db, plan)
        key = f"{name}:{self.arguments.threads}"
        self.seconds[key] = self.seconds.get(key, 0) + seconds
        self.records.write_text(json.dumps(self.seconds, indent=1))
        return self.seconds[key]


def spell_share(over, transferred, tuned):
    return f"{(over - transferred) / (over - tuned):7.1%}" if over > tuned else "    -  "


def compare(study, name, tuned_seconds, folder):
    """Prints a model's rows and gives what the means are made of."""
    arguments, plans, seconds = study.arguments, {"tuned": folder / f"{name}.tuned.plan"}, {"tuned": tuned_seconds}
    for mode in ["transfer", *(["transfer:all"] if arguments.pool else [])]:
        # A copy: what is decided for this model must not change what the next one finds.
        database, plans[mode] = folder / "copy.db", folder / f"{name}.{mode.replace(':', '-')}.plan"
        shutil.copyfile(arguments.db, database)
        told, seconds[mode] = study.run(name, mode, database, plans[mode])
        sources = told["sources"]
        scores = ", ".join(f"{model} {score:.3f}" for model, score in sorted(sources["scores"].items(), key=lambda item: -item[1]))
        taken = sum(kernel["planned"] != kernel["best"] for kernel in told["kernels"])
        print(f"{name}: {mode} from {sources['chosen']} ({scores}); {taken} of {len(told['kernels'])} kernels have another's schedule")
    sessions = {mode: fathom.Session(fathom.compile(model_file(name), tune=mode, db="none"), arguments.threads) for mode in ("off", "draft")}
    for mode, plan in plans.items():
        sessions[mode] = fathom.Session(fathom.compile(model_file(name), plan=str(plan), db="none"), arguments.threads)
    inputs = random_inputs(sessions["draft"], seed=0)
    expected = sessions["draft"].run(None, inputs)
    for mode, session in sessions.items():
        if not results_agree(session.run(None, inputs), expected):
            sys.exit(f"{name}: the results of {mode} differ from those of the draft")
    ms = {mode: quantiles(values)["median"] for mode, values in times_in_turns(sessions, inputs, arguments.rounds).items()}
    rows = {}
    for mode in sessions:
        shares = [spell_share(ms[base], ms[mode], ms["tuned"]) if mode.startswith("transfer") else "" for base in ("off", "draft")]
        took = f"{seconds[mode]:9.1f}" if mode in seconds else ""
        part = f"{seconds[mode] / tuned_seconds:8.1%}" if mode.startswith("transfer") else ""
        print(f"{name:18} {mode:13} {ms[mode]:9.3f} {ms['off'] / ms[mode]:9.3f} {ms['draft'] / ms[mode]:9.3f} {shares[0]:>9} {shares[1]:>9} {took:>9} {part:>8}", flush=True)
        rows[mode] = {"off": ms["off"] / ms[mode], "draft": ms["draft"] / ms[mode], "ms": ms, "part": seconds.get(mode, 0) / tuned_seconds}
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"({' '.join(SMALL)})")
    parser.add_argument("--all", action="store_true", help="the thesis' models")
    parser.add_argument("--trials", type=positive, default=16)
    parser.add_argument("--pool", action="store_true", help="also the schedules of all other models")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=4)
    parser.add_argument("--db", type=pathlib.Path, default=BUILD / "tune/transfer.db", help="where what was measured is kept")
    arguments = parser.parse_args()
    names = arguments.models or (list(THESIS.values()) if arguments.all else SMALL)
    if unknown := [name for name in names if not is_model(name)]:
        print(f"missing: {', '.join(unknown)}")
    names = [name for name in names if name not in unknown]
    if len(names) < 2:
        parser.error("at least two models are wanted, as one takes the schedules of another")
    study = Study(arguments)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tuned_seconds = {name: study.tune(name, folder / f"{name}.tuned.plan") for name in names}
        print(f"{'model':18} {'mode':13} {'ms':>9} {'over off':>9} {'ov. draft':>9} {'of full':>9} {'of draft':>9} {'seconds':>9} {'of time':>8}")
        found = [compare(study, name, tuned_seconds[name], folder) for name in names]
    print("geometric means of the gain, time(BASE) / time(mode):")
    for mode in found[0]:
        over = {base: statistics.geometric_mean(rows[mode][base] for rows in found) for base in ("off", "draft")}
        print(f"  {mode:13} over off {over['off']:.3f}, over draft {over['draft']:.3f}, slowest over draft {min(rows[mode]['draft'] for rows in found):.3f}")
    for mode in [mode for mode in found[0] if mode.startswith("transfer")]:
        saved = sum(rows[mode]["ms"]["off"] - rows[mode]["ms"][mode] for rows in found)
        full = sum(rows[mode]["ms"]["off"] - rows[mode]["ms"]["tuned"] for rows in found)
        print(f"{mode}: sum of (time(off) - time({mode})) / sum of (time(off) - time(tuned)) = {saved / full:.1%} in a mean of "
              f"{statistics.mean(rows[mode]['part'] for rows in found):.1%} of the time")


if __name__ == "__main__":
    main()
