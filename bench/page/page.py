"""Results of `./dev bench` as one HTML page that needs nothing else: no network, no other file.

    python -m page.page RESULTS.json [KERNELS.json] > page.html
"""

import argparse
import json
import pathlib
import sys

import report
from kernel_report import KernelResults

from .plots import dot_plot, roofline_plot, spell_threads
from .svg import escape, number

HERE = pathlib.Path(__file__).parent


def table(head, rows):
    """Cells are text, or (text, class)."""

    def cell(value):
        text, name = value if isinstance(value, tuple) else (value, "")
        return f'<td class="{name}">{escape(text)}</td>' if name else f"<td>{escape(text)}</td>"

    heads = "".join(f"<th>{escape(text)}</th>" for text in head)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def section(title, text, *content):
    return f"<h2>{escape(title)}</h2><p>{escape(text)}</p>{''.join(content)}"


def plots(figures):
    return f'<div class="plots">{"".join(figures)}</div>'


def ratio_cell(ms, ratio):
    return (f"{number(ms)} ({ratio:.2f})", "worse" if ratio < 1 else "")


def context_text(data):
    context = data.get("context", {})
    versions = ", ".join(f"{name} {version}" for name, version in context.get("versions", {}).items())
    machine = ", ".join([*filter(None, [context.get("cpu"), context.get("machine", "unknown machine")]), f"{context.get('num_cpus', '?')} CPUs"])
    clock = "CPU time" if context.get("clock") == "cpu" else "wall time"
    return f"{context.get('date', '')} · {machine} · {clock} · {versions}"


def headline_section(data):
    """What all of the page comes down to, and what makes it less certain."""
    means = report.mean_ratios(data)
    first = next((peer for peer in report.peer_names(data) if peer != "fathom"), None)
    told = [(threads, *row[first]) for threads, row in means.items() if first in row]
    if not told:
        return ""
    text = f"{told[0][1]:.2f} × as fast as {first} with {spell_threads(told[0][0])}"
    text += "".join(f", {mean:.2f} × with {spell_threads(threads)}" for threads, mean, _ in told[1:])
    counts = {count for *_, count in told}
    parts = [f'<p class="headline">{escape(text)}</p>', f"<p>The geometric mean of {max(counts)} models.</p>"]
    if most := report.most_load(data):
        parts.append(f'<p class="warning">The machine was busy: others took up to {most:.0%} of its CPUs. Both sides met it in turns, but times and ratios spread.</p>')
    return "".join(parts)


def latency_section(data):
    found, peers = report.latencies(data), report.peer_names(data)
    counts = sorted({threads for _, threads in found})
    figures, tables = [], []
    for threads in counts:
        rows = {model: row for (model, count), row in found.items() if count == threads}
        errors = {model: row for (model, count), row in report.spreads(data).items() if count == threads}
        caption = f"Median time of a run, {spell_threads(threads)}; further left is faster. Bars: four of five runs."
        figures.append(dot_plot(rows, peers, "ms", caption, errors=errors))
        lines = []
        for model, row in rows.items():
            told = report.ratios(row)
            cells = [ratio_cell(row[peer], told[peer]) if peer in told else "–" for peer in peers[1:]]
            lines.append([model, number(row["fathom"]) if "fathom" in row else "–", *cells])
        tables.append(table([f"ms, {spell_threads(threads)} (ratio)", *peers], lines))
    means = [
        [spell_threads(threads), *(f"{row[peer][0]:.2f} ({row[peer][1]})" if peer in row else "–" for peer in peers[1:])]
        for threads, row in report.mean_ratios(data).items()
    ]
    return section(
        "Latency",
        "Ratio is a peer's time over Fathom's: more than 1 means that Fathom is faster. All sides took turns in one run and gave the same results.",
        plots(figures) if figures else dot_plot({}, [], "ms", "Median time of a run."),
        *tables,
        "<p>Geometric means of the ratios, and of how many models:</p>" if means else "",
        table(["", *peers[1:]], means) if means else "",
    )


def scaling_section(data):
    figures, slower = [], []
    for (few, many), found in report.scalings(data).items():
        slower += [f"{model} with {spell_threads(many)} ({row['fathom']:.2f} ×)" for model, row in found.items() if row.get("fathom", 1) < 1]
        caption = f"Time with {spell_threads(few)} over time with {spell_threads(many)}; the dashed line is ideal."
        figures.append(dot_plot(found, report.peer_names(data), "×", caption, logarithmic=False, goal=many / few))
    warning = f'<p class="warning">Slower than with fewer threads: {escape(", ".join(slower))}.</p>' if slower else ""
    return section("Threads", "How much faster more threads make a model.", warning, plots(figures)) if figures else ""


def roofline_section(data):
    if not data.get("rooflines"):
        return ""
    text = (
        "Every kernel of a model beside what the machine can do: the slope is memory, the flat part arithmetic. A mark's area is the kernel's time; point at "
        "it, or tap on it, to see which kernel it is. Data that caches hold moves faster than memory, so that marks may lie above the slope. The times are "
        "the least of a few runs, in wall time."
    )
    return section("Kernels of the models", text, plots(map(roofline_plot, data["rooflines"])))


def memory_section(data):
    found = {entry["model"]: entry["memory"] for entry in data.get("models", []) if entry.get("memory")}
    if not found:
        return ""

    def plot(names, caption):
        # What is not above 0 has no place on the scale.
        rows = {model: {text: memory[key] / 1e6 for key, text in names.items() if memory.get(key, 0) > 0} for model, memory in found.items()}
        return dot_plot(rows, list(names.values()), "MB", caption)

    text = (
        "Fathom plans its memory: an arena and scratch for each thread. Of ONNX Runtime we see the process: what loading and running the model added to it, "
        "and the most that it had, both less the weights. Where it does not read all weights from the file that difference says nothing and may be missing."
    )
    return section(
        "Memory",
        text,
        plots(
            [
                plot(
                    {"fathom": "fathom, planned", "onnxruntime_model": "onnxruntime, added", "onnxruntime": "onnxruntime, whole process"},
                    "Memory besides the weights.",
                ),
                plot({"fathom_process": "fathom", "onnxruntime_process": "onnxruntime"}, "Largest resident size of the processes, weights and interpreter included."),
            ]
        ),
    )


def kernel_section(data):
    if not data.get("kernels"):
        return ""
    found = KernelResults(data["kernels"])
    rates, sides = found.compared()
    rows = [[name, *(number(row[side]) if side in row else "–" for side in sides)] for name, row in rates.items()]
    parts = [table(["GFLOP/s", *sides], rows)]
    if found.peak:
        groups = {}
        for name, row in rates.items():
            kind, _, rest = name.partition("/")
            groups.setdefault(kind, {})[rest or kind] = {side: 100 * rate / found.peak for side, rate in row.items()}
        caption = f"share of {number(found.peak)} GFLOP/s, multiply-adds on registers alone, measured in the same run. Winograd's method may exceed it."
        figures = [dot_plot(rows, sides, "% of peak", f"{kind}: {caption}", logarithmic=False) for kind, rows in groups.items()]
        parts.insert(0, plots(figures))
    notes = "".join(f"<li>{escape(note)}</li>" for note in found.notes()[1:])
    if notes:
        parts.append(f"<p>{escape(found.notes()[0])}</p><ul>{notes}</ul>")
    text = "Matrix products and convolutions on one thread."
    if found.constants:
        text += " The constants are the best of some libraries on another machine, scaled by the peak."
    return section("Single kernels", text, *parts)


def skipped_section(data):
    if not data.get("skipped"):
        return ""
    rows = [[entry["peer"], entry.get("model", "all"), entry.get("threads", "all"), entry["reason"]] for entry in data["skipped"]]
    return section("Left out", "Who could not take part, and why.", table(["peer", "model", "threads", "reason"], rows))


def page(data, sections):
    """The page of these sections, functions of the results."""
    style, script = (path.read_text() for path in (HERE.parents[1] / "share/page/style.css", HERE / "script.js"))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Fathom, measured</title><style>\n{style}</style></head><body><h1>Fathom, measured</h1>"
        f'<p class="quiet">{escape(context_text(data))}</p>{"".join(make(data) for make in sections)}<script>\n{script}</script></body></html>\n'
    )


def render(data):
    return page(data, [headline_section, latency_section, scaling_section, roofline_section, kernel_section, memory_section, skipped_section])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, help="what bench models --json wrote")
    parser.add_argument("kernels", type=pathlib.Path, nargs="?", help="what bench kernels --json wrote")
    arguments = parser.parse_args()
    data = json.loads(arguments.results.read_text())
    if arguments.kernels:
        data["kernels"] = json.loads(arguments.kernels.read_text())["benchmarks"]
    sys.stdout.write(render(data))


if __name__ == "__main__":
    main()
