"""What a measurement found, as plain data: rows of times in Google Benchmark's format and more, and the tables printed of them."""

import math

from timing import quantiles


def describe(model, threads, peer, times):
    """One row of the results. `times` are (wall, CPU) in milliseconds."""
    wall, cpu = (quantiles(values) for values in zip(*times))
    return {
        "name": f"{model}/threads:{threads}/{peer}",
        "model": model,
        "threads": threads,
        "peer": peer,
        "run_type": "iteration",
        "iterations": len(times),
        "real_time": wall["median"],
        "cpu_time": cpu["median"],
        "time_unit": "ms",
        **{key: wall[key] for key in ("p10", "p90", "min")},
    }


def clock_key(data):
    return "cpu_time" if data.get("context", {}).get("clock") == "cpu" else "real_time"


def latencies(data):
    """{(model, threads): {peer: ms}}, in the order measured."""
    table = {}
    for row in data.get("benchmarks", []):
        if "peer" in row:
            table.setdefault((row["model"], row["threads"]), {})[row["peer"]] = row[clock_key(data)]
    return table


def spreads(data):
    """{(model, threads): {peer: (tenth percentile, ninetieth)}} of wall times."""
    table = {}
    for row in data.get("benchmarks", []) if clock_key(data) == "real_time" else []:
        if "peer" in row:
            table.setdefault((row["model"], row["threads"]), {})[row["peer"]] = (row["p10"], row["p90"])
    return table


def peer_names(data):
    """Fathom first, then the others in the order in which they first appear."""
    names = dict.fromkeys(peer for row in latencies(data).values() for peer in row)
    return sorted(names, key=lambda name: name != "fathom")


def ratios(row):
    """How many times longer than Fathom each peer takes."""
    ours = row.get("fathom")
    return {peer: time / ours for peer, time in row.items() if peer != "fathom"} if ours else {}


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def mean_ratios(data):
    """{threads: {peer: (geometric mean over the models, number of models)}}"""
    means = {}
    for (_, threads), row in latencies(data).items():
        for peer, ratio in ratios(row).items():
            means.setdefault(threads, {}).setdefault(peer, []).append(ratio)
    return {threads: {peer: (geometric_mean(values), len(values)) for peer, values in row.items()} for threads, row in means.items()}


def scalings(data):
    """{(few, many): {model: {peer: time with few threads over the time with many}}}, from the fewest threads to each larger number."""
    table = latencies(data)
    few, *more = sorted({threads for _, threads in table}) or [None]
    found = {}
    for many in more:
        for model in dict.fromkeys(model for model, _ in table):
            before, after = table.get((model, few), {}), table.get((model, many), {})
            shared = {peer: before[peer] / after[peer] for peer in before if after.get(peer)}
            if shared:
                found.setdefault((few, many), {})[model] = shared
    return found


def register_scalings(data, few, many):
    """{model: what threads that need registers only gained meanwhile}: every thread has the same work."""
    times = {(entry["model"], entry["threads"]): entry["ms"] for entry in data.get("registers", [])}
    return {
        model: many / few * times[model, few] / times[model, many]
        for model, threads in times
        if threads == few and times.get((model, many))
    }


def memory_of(manifest, threads, ours, theirs, weights):
    """Bytes that a run needs: ours by plan, ONNX Runtime's as its process shows it, less the weights; and the largest resident size of both processes.

    Nothing where symbolic dimensions decide the size of the arena. The differences may be negative: weights that are mapped from a file and that a
    run does not read are not resident.
    """
    if manifest["arena_bytes"] is None:
        return None
    return {
        "fathom": manifest["arena_bytes"] + manifest["scratch_bytes"] * threads,
        "onnxruntime": theirs["peak"] - weights,
        # The same without the interpreter and the libraries, which were there before the model.
        "onnxruntime_model": theirs["now"] - theirs["before"] - weights,
        "onnxruntime_before": theirs["before"],
        "fathom_process": ours["peak"],
        "onnxruntime_process": theirs["peak"],
    }


def memory_verdict(memory):
    """Whether we need more than ONNX Runtime does, where that can be said."""
    if memory["onnxruntime"] < memory["onnxruntime_before"]:
        return "not comparable: not all of its weights were resident"
    return "larger" if memory["fathom"] > memory["onnxruntime"] else ""


MEMORY_COLUMNS = {
    "fathom": "fathom",
    "onnxruntime": "onnxruntime",
    "onnxruntime_model": "without libraries",
    "fathom_process": "fathom RSS",
    "onnxruntime_process": "onnxruntime RSS",
}


def memory_lines(data):
    memories = [(entry["model"], entry["memory"]) for entry in data.get("models", []) if entry.get("memory")]
    if not memories:
        return []
    lines = [f"{'memory besides weights, MB':28}" + "".join(f"{text:>18}" for text in MEMORY_COLUMNS.values())]
    for model, memory in memories:
        line = f"{model:28}" + "".join(f"{memory[key] / 1e6:18.1f}" for key in MEMORY_COLUMNS)
        lines.append(f"{line}  {memory_verdict(memory)}".rstrip())
    return lines


def scaling_lines(data):
    lines = []
    for (few, many), found in scalings(data).items():
        alone = register_scalings(data, few, many)
        columns = peer_names(data) + ["registers alone"] * bool(alone)
        lines.append(f"{f'speed-up, {few} to {many} threads':28}" + "".join(f"{column:>18}" for column in columns))
        for model, row in found.items():
            row = row | ({"registers alone": alone[model]} if model in alone else {})
            lines.append(f"{model:28}" + "".join(f"{row[column]:18.2f}" if column in row else f"{'-':>18}" for column in columns))
    return lines


# The share of the CPUs that others may take before it is said.
QUIET = 0.01


def most_load(data):
    """The largest share of the CPUs that others took while a model was measured, 0 where the machine was quiet."""
    most = max((entry["others"] or 0 for entry in data.get("loads", [])), default=0)
    return most if most > QUIET else 0


def load_lines(data):
    return [
        f"other processes took {entry['others']:.0%} of the CPUs: {entry['model']}"
        for entry in data.get("loads", [])
        if (entry["others"] or 0) > QUIET
    ]


def row_text(model, threads, row, peers):
    """A line of the table; a peer that has no time gets a dash."""
    cells = [f"{model:24} {threads:7} {row['fathom']:10.3f}"]
    found = ratios(row)
    for peer in peers:
        width = max(len(peer) + 3, 15)
        cells.append(f"{row[peer]:.3f} ({found[peer]:.2f})".rjust(width) if peer in row else "-".rjust(width))
    return " ".join(cells)


def header_text(peers):
    return " ".join([f"{'model':24} {'threads':>7} {'fathom ms':>10}"] + [f"{peer} ms".rjust(max(len(peer) + 3, 15)) for peer in peers])


def summary_lines(data):
    lines = []
    for threads, row in mean_ratios(data).items():
        means = ", ".join(f"{peer} {mean:.2f} ({count})" for peer, (mean, count) in row.items())
        lines.append(f"geometric mean of the ratios with {threads} thread{'s' * (threads > 1)} (models): {means}")
    lines += scaling_lines(data) + memory_lines(data) + load_lines(data)
    for entry in data.get("skipped", []):
        where = f" on {entry['model']} with {entry['threads']} threads" if entry.get("model") else ""
        lines.append(f"left out: {entry['peer']}{where}: {entry['reason']}")
    return lines
