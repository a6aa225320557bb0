#!/usr/bin/env python3
"""The gallery of networks: docs/user/gallery.md and its pictures, of the last record of each CPU in bench/history.

    gallery.py [--write]

Without --write it prints the page. What a network is comes from its file in models/, and every figure from the records, which
`./dev bench history --record` adds to; nothing is written by hand.
"""
import argparse
import pathlib

import onnx

import history
from page.plots import WIDTH, dots, spell_threads
from page.svg import element, escape, label, marker
from report import geometric_mean
from zoo import ROOT, weight_bytes

PAGE = ROOT / "docs" / "user" / "gallery.md"
PICTURES = PAGE.with_suffix("")
STYLE = ROOT / "share" / "page" / "style.css"

HEADER = """<!-- Printed by `./dev bench gallery --write` of the records in bench/history; a test holds it against what that prints. -->
# Gallery of networks

The networks of `models/`, and how fast they run beside ONNX Runtime: **above 1 Fathom is faster**. Both sides took turns in one session on an idle machine, and results were
compared before anything was timed. Every figure is of the last record of a CPU, which anybody with such a machine can repeat:

```sh
./dev bench models --all --threads 1,2 --json results.json
./dev bench history --record results.json && ./dev bench gallery --write
```

102 more networks, as PyTorch exports them, are on a [page of their own](exports.md).
"""


def picture(record):
    """The ratios as an image that needs nothing else."""
    counts = list(record["ratios"])
    series = [spell_threads(int(threads)) for threads in counts]
    rows = {name: {} for name in order(record)}
    for words, models in zip(series, record["ratios"].values()):
        for name, (ratio, _) in models.items():
            rows[name][words] = ratio
    drawing, height = dots(rows, series, "times as fast as ONNX Runtime", True, 1, {})
    key = "".join(marker(i, 12 + 90 * i, height + 10, 5, "") + label(22 + 90 * i, height + 14, words) for i, words in enumerate(series))
    ground = element("rect", width="100%", height="100%", style="fill: var(--panel)")
    style = element("style", escape(STYLE.read_text()))
    return element("svg", style + ground + drawing + key, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {height + 24}", width=2 * WIDTH) + "\n"


def order(record):
    """The networks of a record, those first that gain most."""
    [first, *_] = record["ratios"].values()
    names = dict.fromkeys(name for models in record["ratios"].values() for name in models)
    return sorted(names, key=lambda name: -first.get(name, [0])[0])


def shape_text(info):
    return " x ".join(dim.dim_param or str(dim.dim_value) for dim in info.type.tensor_type.shape.dim)


def described(name):
    """Nodes, megabytes of weights, and the inputs of a network; nothing of one that somebody else measured."""
    path = ROOT / "models" / f"{name}.onnx"
    if not path.exists():
        return " | | "
    graph = onnx.load(path, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = ", ".join(shape_text(info) for info in graph.input if info.name not in weights)
    return f"{len(graph.node)} | {weight_bytes(path) / 1e6:.3g} | {inputs}"


def table(record):
    counts = list(record["ratios"])
    titles = [f"ratio, {spell_threads(int(threads))}" for threads in counts] + [f"ms, {spell_threads(int(threads))}" for threads in counts]
    lines = [f"| network | nodes | MB of weights | inputs | {' | '.join(titles)} |", "|---" * (4 + len(titles)) + "|"]
    for name in order(record):
        ratios = [f"{record['ratios'][threads][name][0]:.2f}" if name in record["ratios"][threads] else "" for threads in counts]
        times = [f"{record['milliseconds'][threads][name]:.3g}" if name in record["milliseconds"][threads] else "" for threads in counts]
        lines.append(f"| {name} | {described(name)} | {' | '.join(ratios + times)} |")
    return "\n".join(lines)


def section(cpu, record):
    means = ", ".join(
        f"{geometric_mean(ratio for ratio, _ in models.values()):.2f} with {spell_threads(int(threads))}" for threads, models in record["ratios"].items()
    )
    told = f"**Geometric mean {means}.** {record['num_cpus']} CPUs, ONNX Runtime {record[history.REFERENCE]}, {record['date'][:10]}, commit {record['commit']}."
    return f"## {record['cpu']}\n\n{told}\n\n![Ratios on {record['cpu']}]({PICTURES.name}/{cpu}.svg)\n\n{table(record)}\n"


def made(folder):
    """The text of each file by its path, of the records in a folder."""
    last = {path.stem: history.records(path)[-1] for path in sorted(folder.glob("*.jsonl"))}
    sections = [section(cpu, record) for cpu, record in last.items()] or ["There is no record yet.\n"]
    return {PAGE: "\n".join([HEADER, *sections])} | {PICTURES / f"{cpu}.svg": picture(record) for cpu, record in last.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the page and the pictures")
    parser.add_argument("--folder", type=pathlib.Path, default=history.FOLDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    files = made(arguments.folder)
    if not arguments.write:
        return print(files[PAGE], end="")
    for old in PICTURES.glob("*.svg"):
        old.unlink()
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
