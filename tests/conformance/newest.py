"""ONNX's own node cases, as the installed onnx package makes them, against the list of those that do not pass.

    python tests/conformance/newest.py [--filter TEXT] [--part N] [--new] [--verbose] [--update]

The suite that conformance_tests runs comes with Debian and is older. The list is exact both ways: an unlisted failure and a
listed pass are both errors. --update rewrites it.
"""
from __future__ import annotations

import argparse
import multiprocessing
import os
import pathlib
import random
import sys
import warnings

import numpy as np

OLD_SUITE = pathlib.Path("/usr/share/libonnx-testdata/data/node")
EXPECTED = pathlib.Path(__file__).parent / "expected" / "newest.txt"
HEADER = "# Node cases of the onnx package that are known not to pass, with the reason; written by newest.py --update.\n"
# What counts as a failure of a worker that does not come back, in seconds.
PATIENCE = 120

cases: list = []


def collect(text: str, old: set[str]) -> None:
    """In the parent, so that all workers have them."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cases divide by zero on purpose
        cases.extend(sorted((c for c in collect_testcases(None) if text in c.name and c.name not in old), key=lambda c: c.name))


def as_value(value):
    """Some cases have tensors of ONNX instead of arrays."""
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def differs(got, want, case) -> str:
    if isinstance(want, (list, tuple)):
        if not isinstance(got, list) or len(got) != len(want):
            return "another number of elements"
        return next(filter(None, (differs(g, w, case) for g, w in zip(got, want))), "")
    want = as_value(want)
    if want is None or got is None:
        return "" if got is want else "one is absent"
    want, got = np.asarray(want), np.asarray(got)
    if got.shape != want.shape:
        return f"is of shape {list(got.shape)}, not {list(want.shape)}"
    if want.dtype.kind in "OSU":
        return "" if (got == want.astype(object)).all() else f"{got.tolist()} instead of {want.tolist()}"
    if got.dtype != want.dtype:
        return f"is {got.dtype}, not {want.dtype}"
    if got.dtype.kind in "biu":
        wrong = got != want
    else:
        g, w = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore"):
            # As ONNX's own runner has it: two units of the last place of bfloat16.
            rtol = max(case.rtol, 2**-6) if got.dtype.name == "bfloat16" else case.rtol
            wrong = ~((g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= case.atol + rtol * np.abs(w)))
    if not wrong.any():
        return ""
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} elements differ: {list(first)} is {got[first]}, not {want[first]}"


def run(number: int) -> tuple[int, str]:
    import fathom

    case = cases[number]
    try:
        session = fathom.Session(fathom.compile(case.model))
        for inputs, outputs in case.data_sets:
            names = [info.name for info in case.model.graph.input]
            results = session.run(None, dict(zip(names, map(as_value, inputs), strict=True)))
            for i, (got, want) in enumerate(zip(results, outputs, strict=True)):
                if problem := differs(got, want, case):
                    return number, f"output {i}: {problem}"
    except fathom.Error as error:
        return number, f"[{error.code}] {error.message}"
    except Exception as error:  # a case must not end the others
        return number, f"{type(error).__name__}: {error}"
    return number, ""


def run_all(jobs: int) -> list[str]:
    problems = ["was not run"] * len(cases)
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        results = pool.imap_unordered(run, range(len(cases)))
        for _ in cases:
            try:
                number, problem = results.next(PATIENCE)
            except multiprocessing.TimeoutError:
                break  # a worker crashed or hangs: its cases stay as they are
            problems[number] = problem.split("\n")[0][:160].replace("#", " ")
    return problems


def read_expected() -> dict[str, str]:
    lines = EXPECTED.read_text().splitlines() if EXPECTED.exists() else []
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--part", type=int, default=int(os.environ.get("FATHOM_TEST_PART", 1)),
                        help="only one case in so many, others with every FATHOM_TEST_SEED (FATHOM_TEST_PART or 1)")
    parser.add_argument("--new", action="store_true", help="leave out the cases that conformance_tests runs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="print the reason of expected failures too")
    parser.add_argument("--update", action="store_true", help="rewrite the expected list instead of comparing with it")
    options = parser.parse_args()
    if options.update and (options.filter or options.new or options.part > 1):
        parser.error("--update needs all cases")
    old = {folder.name for folder in OLD_SUITE.iterdir()} if options.new and OLD_SUITE.exists() else set()
    collect(options.filter, old)
    cases[:] = random.Random(int(os.environ.get("FATHOM_TEST_SEED", 0))).sample(cases, -(-len(cases) // max(1, options.part)))
    problems = run_all(options.jobs)
    found = {case.name: problem for case, problem in zip(cases, problems) if problem}
    if options.update:
        EXPECTED.write_text(HEADER + "".join(f"{name}: {problem}\n" for name, problem in found.items()))
    expected = read_expected()
    failed = 0
    for case, problem in zip(cases, problems):
        listed = case.name in expected
        failed += listed != bool(problem)
        if listed and not problem:
            print(f"{case.name}: passes, but is listed as an expected failure")
        elif problem and (options.verbose or not listed):
            print(f"{case.name}: {problem}")
    if not options.filter and not old and options.part <= 1:
        for name in expected.keys() - {case.name for case in cases}:
            print(f"{name}: listed as an expected failure, but there is no such case")
            failed += 1
    passed = len(cases) - len(found)
    print(f"{passed} of {len(cases)} cases pass ({100 * passed / max(1, len(cases)):.1f} %)")
    # As the other suites say it, for ./dev test.
    print(f"{passed} passed, {failed} failed, {len(found)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
