"""A model with inputs: what Fathom makes of it, compared with what it means."""
import ast
import dataclasses
import re
import warnings
from pathlib import Path

import numpy as np
import onnx

import fathom
from compare import unexplained
from reference import Impossible, Reference
from values import BFLOAT16

# What a generated model may be refused for. Anything else that is refused is a failure.
REFUSALS = [
    # Sizes that must be known when the model is compiled.
    r"F3004.*(must|needs|need) .*(constant|known)",
    r"F3004.*only known when the model runs",
    r"F3004.*is not known to be",
    r"F3004.*hint: declare a range for the symbolic dimension",
    r"F1008.*Col2Im.*is not a multiple of blocks",
    # Operators that are not there yet.
    r"F3001.*operator CausalConvWithState ",
    # Reductions of integers to logarithms.
    r"F1007.*ReduceLogSum",
]


@dataclasses.dataclass
class Outcome:
    """kind: ok, refusal, internal, mismatch, wrong refusal, error; and for the parent process crash and hang."""

    kind: str
    detail: str = ""

    @property
    def is_failure(self):
        return self.kind not in ("ok", "refusal", "skipped")

    def same_as(self, other):
        """Whether this is the same defect, as far as one can tell: numbers and names do not count."""
        plain = [re.sub(r"[0-9]+|'[^']*'|\[[^]]*\]", "", o.detail.split("\n")[0]) for o in (self, other)]
        return self.kind == other.kind and (self.kind in ("mismatch", "crash", "hang") or plain[0] == plain[1])


@dataclasses.dataclass
class Case:
    model: onnx.ModelProto
    feeds: list
    options: dict = dataclasses.field(default_factory=dict)

    def save(self, folder):
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(self.model, folder / "model.onnx")
        for i, feed in enumerate(self.feeds):
            for name, array in feed.items():
                # NumPy's files have no bfloat16: its bits are saved, and the model says what they are.
                np.save(folder / f"input{i}.{name}.npy", array.view(np.uint16) if array.dtype == BFLOAT16 else array)
        (folder / "options.txt").write_text(repr(self.options))
        return folder

    @staticmethod
    def load(folder):
        folder = Path(folder)
        model = onnx.load(folder / "model.onnx")
        kinds = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
        feeds = {}
        for path in sorted(folder.glob("input*.npy")):
            number, name = path.stem.removeprefix("input").split(".", 1)
            array = np.load(path)
            feeds.setdefault(int(number), {})[name] = array.view(BFLOAT16) if kinds[name] == onnx.TensorProto.BFLOAT16 else array
        return Case(model, [feeds[k] for k in sorted(feeds)] or [{}], ast.literal_eval((folder / "options.txt").read_text()))


def run(case, progress=lambda phase: None):
    """What becomes of a case in this process, which a crash ends."""
    progress("reference")
    reference = Reference(case.model)
    try:
        expected = [reference.run(feed) for feed in case.feeds]
    except Impossible as error:
        return Outcome("skipped", str(error))
    progress("compile")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            artifact = fathom.compile(case.model, jobs=1, **case.options)
    except fathom.Error as error:
        return refusal(error)
    except Exception as error:
        return Outcome("error", repr(error))
    progress("run")
    sessions = [fathom.Session(artifact, threads=threads) for threads in (1, 2)]
    for number, (feed, want) in enumerate(zip(case.feeds, expected, strict=True)):
        try:
            got, other = (session.run(None, feed) for session in sessions)
        except fathom.Error as error:
            # A model is compiled for sizes that agree with each other where one of them had to be assumed.
            if number and error.code == "F1012":
                continue
            return Outcome("internal" if error.code.startswith("F7") else "wrong refusal", f"run {number}: {error}")
        except Exception as error:
            return Outcome("error", repr(error))
        for mine, same in zip(got, other, strict=True):
            if mine.tobytes() != same.tobytes():
                return Outcome("mismatch", f"run {number}: results depend on the number of threads")
        difference = unexplained(reference, feed, got, want)
        if difference:
            return Outcome("mismatch", f"run {number}: {difference}")
    return Outcome("ok")


def refusal(error):
    if error.code.startswith("F7"):
        return Outcome("internal", str(error))
    if any(re.search(pattern, str(error), re.DOTALL) for pattern in REFUSALS):
        return Outcome("refusal", str(error))
    return Outcome("wrong refusal", str(error))
