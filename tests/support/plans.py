"""One editor of plans: of their knobs, their kernels, or any other part of their text."""
import re

import fathom


class Plan:
    """A plan's text. Every change gives another plan, and must have something to change."""

    def __init__(self, text):
        self.text = text

    @classmethod
    def of(cls, proto, **options):
        """What the compiler decides; options are those of fathom.compile."""
        return cls(fathom.compile(proto, emit="plan", **options))

    @property
    def is_aarch64(self):
        return re.search(r"(?m)^target: +'?aarch64", self.text) is not None

    @property
    def classes(self):
        """Of the kernels, in their order."""
        return re.findall(r"\bclass: +(\w+)", self.text)

    @property
    def kernels(self):
        """The text of each."""
        return re.split(r"(?m)^(?=  - kernel:)", self.text)[1:]

    @property
    def head(self):
        """What stands in front of the kernels."""
        return re.split(r"(?m)^(?=  - kernel:)", self.text)[0]

    def values(self, knob):
        """A knob's values, in the order of the kernels that have it."""
        return [int(number) for number in re.findall(rf"\b{knob}: +(\d+)", self.text)]

    def with_kernels(self, kernels):
        return Plan(self.head + "".join(kernels))

    def replaced(self, pattern, replacement, count=0):
        text, found = re.subn(pattern, replacement, self.text, count=count)
        assert found, f"the plan has no {pattern}:\n{self.text}"
        return Plan(text)

    def with_knobs(self, knobs, of=None):
        """Other values of knobs: of every kernel that has them, or of the first of a class."""
        plan = self
        for knob, number in knobs.items():
            if of:
                plan = plan.replaced(rf"(?s)(\bclass: +{of}\b.*?\b{knob}): +\d+", rf"\g<1>: {number}", count=1)
            else:
                plan = plan.replaced(rf"\b{knob}: +\d+", f"{knob}: {number}")
        return plan

    def save(self, folder, name="edited.plan"):
        """The path of its file, as fathom.compile takes it."""
        path = folder / name
        path.write_text(self.text)
        return str(path)

    def compile(self, proto, folder, **options):
        return fathom.compile(proto, plan=self.save(folder), **options)


def round_trip(proto, folder, **options):
    """Files of a model's plan and artifact; the plan, given back, makes the same artifact. Options are those of fathom.compile."""
    plan, artifact, again = folder / "plan", folder / "first.fathom", folder / "second.fathom"
    fathom.compile(proto, output=str(plan), emit="plan", **options)
    fathom.compile(proto, output=str(artifact), **options)
    kept = {name: value for name, value in options.items() if name in ("fp", "target")}
    fathom.compile(proto, output=str(again), plan=str(plan), **kept)
    assert artifact.read_bytes() == again.read_bytes()
    return plan, artifact
