"""The page of `./dev bench passes --html`: what sequences of passes make of models."""

from .page import page, plots, section, table
from .plots import dot_plot
from .svg import number

COLUMNS = {
    "ms": ("time of a run", "ms", 1),
    "graph_seconds": ("time of the passes", "ms", 1e3),
    "compile_seconds": ("time of the compilation", "s", 1),
    "memory_bytes": ("memory besides the weights", "MB", 1e-6),
    "kernels": ("kernels", "kernels", 1),
}


def policy_section(data):
    models = {entry["model"]: entry["policies"] for entry in data["models"]}
    policies = list(dict.fromkeys(policy for found in models.values() for policy in found))
    figures, tables = [], []
    for key, (title, unit, factor) in COLUMNS.items():
        rows = {
            model: {policy: row[key] * factor for policy, row in found.items() if row.get(key)}
            for model, found in models.items()
        }
        figures.append(dot_plot(rows, policies, unit, f"{title[0].upper()}{title[1:]}, by policy; further left is less."))
        lines = [[model, *(number(row[policy]) if policy in row else "–" for policy in policies)] for model, row in rows.items()]
        tables.append(table([f"{title}, {unit}", *policies], lines))
    text = (
        "Each policy is a sequence of passes (docs/reference/passes.md). All took turns in one process and gave the same results; a time further from the "
        "mean than three standard deviations does not count."
    )
    return section("Policies", text, plots(figures), *tables)


def render(data):
    return page(data, [policy_section])
