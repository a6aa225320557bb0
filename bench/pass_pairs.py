"""Which passes can stand in any order: what `fathom passes MODEL --pairs` tells of networks, as one table."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from zoo import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tests"))

from support.sparse import sparse  # noqa: E402

# One of each kind.
NETWORKS = "resnet18 mobilenet_v2.train_bn googlenet wrn_40_2_gn bert_base_128 lstm_2x512".split()


def pairs_of(model):
    told = subprocess.run([BUILD / "bin/fathom", "passes", model, "--pairs", "--json"], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(told)


def gather(reports):
    """Of {network: report}: all passes, the networks that each changes, those on which it is not idempotent, and those on which pairs do not commute."""
    first = next(iter(reports.values()))
    found = {"passes": first["passes"], "changing": {}, "not_idempotent": {}, "not_commuting": {}}
    for network, report in reports.items():
        for key in ("changing", "not_idempotent"):
            for name in report[key]:
                found[key].setdefault(name, []).append(network)
        for pair in report["not_commuting"]:
            found["not_commuting"].setdefault(tuple(pair), []).append(network)
    return found


def markdown(found, networks):
    names = found["passes"]
    lines = [
        "# Orders of passes",
        "",
        "Which passes change a graph again where they run twice, and which give another graph in the other order, behind the import of",
        f"{', '.join(networks)}; measured by `./dev bench passes pairs --markdown`,",
        "which prints this page. Graphs are compared by their hash, which knows neither names nor the order of independent ops. Another graph is",
        "not another result: `tests/models/test_pass_orders.py` holds the results of random orders against each other.",
        "",
        "| pass | networks that it changes | changes them again | does not commute with |",
        "|---|---|---|---|",
    ]
    for name in names:
        others = [f"{b if a == name else a} ({len(where)})" for (a, b), where in found["not_commuting"].items() if name in (a, b)]
        again = ", ".join(found["not_idempotent"].get(name, [])) or "none"
        lines.append(f"| `{name}` | {len(found['changing'].get(name, []))} | {again} | {', '.join(others) or '-'} |")
    count = len(names) * (len(names) - 1) // 2
    lines += ["", f"Of {count} pairs {count - len(found['not_commuting'])} commute on all networks; in brackets: on how many of {len(networks)} a pair does not.", ""]
    return "\n".join(lines)


def main(words):
    parser = argparse.ArgumentParser(prog="bench passes pairs", description=__doc__)
    parser.add_argument("models", nargs="*", default=NETWORKS, metavar="MODEL", help=f"default: {' '.join(NETWORKS)}")
    parser.add_argument("--markdown", action="store_true", help="print the page docs/reference/pass-orders.md")
    arguments = parser.parse_args(words)
    reports = {}
    for name in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            reports[name] = pairs_of(sparse(name, pathlib.Path(folder)))
        if not arguments.markdown:
            report = reports[name]
            pairs = ", ".join(" / ".join(pair) for pair in report["not_commuting"]) or "none"
            print(f"{name}: {len(report['passes'])} passes; not idempotent: {', '.join(report['not_idempotent']) or 'none'}; not commuting: {pairs}", flush=True)
    if arguments.markdown:
        print(markdown(gather(reports), arguments.models), end="")
