"""Scales and marks of plots, as SVG text. Colours are classes, so that the page's style decides them for light and dark."""

import html
import math


def escape(text):
    return html.escape(str(text), quote=True)


def element(tag, content="", **attributes):
    """An element; `content` is markup. Underscores in names stand for hyphens, and one at the end for nothing."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(round(value, 2) if isinstance(value, float) else value)}"'
        for key, value in attributes.items()
    )
    return f"<{tag}{given}>{content}</{tag}>"


def label(x, y, text, **attributes):
    return element("text", escape(text), x=x, y=y, **attributes)


def line(x1, y1, x2, y2, **attributes):
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


class LogScale:
    """From values to positions; `low` and `high` are widened to what all values fit into."""

    def __init__(self, values, start, end, margin=1.15):
        values = [value for value in values if value > 0] or [1]
        self.low, self.high = min(values) / margin, max(values) * margin
        self.start, self.end = start, end

    def __call__(self, value):
        share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        """1, 2 and 5 of every power of ten; only the powers where that would be too many."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = (1, 2, 5) if self.high / self.low < 300 else (1,)
        found = [step * 10.0**power for power in powers for step in steps]
        return [value for value in found if self.low <= value <= self.high]


class LinearScale:
    """From 0, or the least value below it, to the largest."""

    def __init__(self, values, start, end):
        self.low, self.high = min([0, *values]), max([*values, 0]) * 1.05 or 1
        self.start, self.end = start, end

    def __call__(self, value):
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self):
        step = 10.0 ** math.floor(math.log10(self.high))
        step = next(part for part in (step / 5, step / 2, step, step * 2) if self.high / part <= 6)
        return [i * step for i in range(int(self.high / step) + 1)]


def number(value):
    """Three digits of it, as a person would write them."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def marker(series, x, y, size, title):
    """A mark of one of several series: colour and shape tell them apart. The title is what shows when one points at it."""
    around = {
        0: [],
        1: [(-1, -1), (1, -1), (1, 1), (-1, 1)],
        2: [(0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)],
        3: [(0, -1.2), (1.15, 0.9), (-1.15, 0.9)],
        4: [(0, 1.2), (1.15, -0.9), (-1.15, -0.9)],
        5: [(-1.2, -0.5), (0, -1.3), (1.2, -0.5), (0.8, 1.1), (-0.8, 1.1)],
    }[series % 6]
    told = element("title", escape(title)) if title else ""
    common = {"class_": f"mark s{series % 8}"}
    if not around:
        return element("circle", told, cx=float(x), cy=float(y), r=float(size), **common)
    points = " ".join(f"{x + dx * size * 0.9:.1f},{y + dy * size * 0.9:.1f}" for dx, dy in around)
    return element("polygon", told, points=points, **common)
