"""slowest.py RESULTS STAGE=SECONDS...: which stages and which tests of a run took longest, from the files that it wrote in JUnit's format."""
import pathlib
import sys
import xml.etree.ElementTree as tree

STAGES, TESTS = 5, 10


def times(folder):
    """Seconds, stage and name of every test."""
    for path in sorted(pathlib.Path(folder).glob("*.xml")):
        try:
            cases = list(tree.parse(path).getroot().iter("testcase"))
        except tree.ParseError:
            continue
        for case in cases:
            yield float(case.get("time") or 0), path.stem, "::".join(filter(None, (case.get("classname"), case.get("name"))))


def report(folder, stages):
    """The lines to print; stages are seconds by name."""
    slowest = sorted(stages.items(), key=lambda stage: -stage[1])[:STAGES]
    lines = ["stages: " + ", ".join(f"{name} {seconds} s" for name, seconds in slowest)]
    return lines + [f"{seconds:7.1f} s  {stage:12} {name}" for seconds, stage, name in sorted(times(folder), reverse=True)[:TESTS]]


if __name__ == "__main__":
    given = (word.rsplit("=", 1) for word in sys.argv[2:])
    print("\n".join(report(sys.argv[1], {name: int(seconds) for name, seconds in given})))
