"""The page's plots: rows of dots, and rooflines. Each is a figure with a legend, made to be legible at the width of a phone."""

import math

from .svg import LinearScale, LogScale, element, escape, label, line, marker, number

WIDTH = 480
LONGEST_NAME = 20


def legend(names):
    """What the marks mean. `names` are (number of the series, text)."""
    items = "".join(
        f'<li><svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">{marker(series, 7, 7, 5, "")}</svg>{escape(name)}</li>'
        for series, name in names
    )
    return f'<ul class="legend">{items}</ul>'


def figure(drawing, height, names, caption):
    picture = element("svg", drawing, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=caption)
    # The script shows there what was tapped on.
    return f'<figure>{legend(names)}{picture}<output></output><figcaption>{escape(caption)}</figcaption></figure>'


def spell_threads(count):
    return f"{count} thread" + "s" * (count != 1)


def shorten(text, longest):
    return text if len(text) <= longest else text[: longest - 1] + "…"


def dot_plot(rows, series, unit, caption, logarithmic=True, goal=None, errors=None):
    """One row for each of `rows` ({name: {series: value}}), a dot for each value; `goal` is a line to compare with.

    `errors`, of the same form, has (low, high) of values, between which a bar lies behind the dot.
    """
    rows = {name: {key: value for key, value in row.items() if value is not None} for name, row in rows.items()}
    if not any(rows.values()):
        return nothing(caption)
    shown = [(i, key) for i, key in enumerate(series) if any(key in row for row in rows.values())]
    return figure(*dots(rows, series, unit, logarithmic, goal, errors or {}), shown, caption)


def dots(rows, series, unit, logarithmic, goal, errors):
    """What a dot plot draws, and its height."""
    values = [value for row in rows.values() for value in row.values()]
    longest = min(max(map(len, rows)), LONGEST_NAME)
    # Room for the names in the larger letters that a phone gets.
    left, top, step = 8 * longest + 16, 26, 24
    height = top + step * len(rows) + 22
    make = LogScale if logarithmic else LinearScale
    ends = [end for name, row in rows.items() for key in row for end in errors.get(name, {}).get(key, ())]
    scale = make([*values, *ends, *([goal] if goal else [])], left, WIDTH - 14)
    parts = []
    for tick in thin_out(scale):
        parts.append(line(scale(tick), top - 6, scale(tick), height - 22, class_="grid"))
        parts.append(label(scale(tick), top - 11, number(tick), class_="tick", text_anchor="middle"))
    parts.append(label(WIDTH - 14, height - 6, unit, class_="tick", text_anchor="end"))
    if goal:
        parts.append(line(scale(goal), top - 6, scale(goal), height - 22, class_="goal"))
    for i, (name, row) in enumerate(rows.items()):
        y = top + step * i + step / 2
        parts.append(label(left - 10, y + 4, shorten(name, longest), class_="name", text_anchor="end"))
        if row:
            parts.append(line(scale(min(row.values())), y, scale(max(row.values())), y, class_="span"))
        for key, (low, high) in errors.get(name, {}).items():
            if key in row:
                parts.append(line(scale(low), y, scale(high), y, class_=f"error s{series.index(key) % 8}"))
        # The first series is drawn last, so that no other covers it.
        for key in reversed([key for key in series if key in row]):
            title = f"{name}, {key}: {number(row[key])} {unit}"
            if found := errors.get(name, {}).get(key):
                title += f", most runs {number(found[0])} to {number(found[1])}"
            parts.append(marker(series.index(key), scale(row[key]), y, 5, title))
    return "".join(parts), height


def thin_out(scale, room=28):
    """Ticks whose numbers do not run into each other."""
    kept = []
    for tick in scale.ticks():
        if not kept or abs(scale(tick) - scale(kept[-1])) >= room:
            kept.append(tick)
    return kept


def nothing(caption):
    return f'<figure><p class="nothing">Nothing was measured.</p><figcaption>{escape(caption)}</figcaption></figure>'


def known_kernels(roofline):
    """Kernels that compute and have a time: (kernel, FLOP per byte, GFLOP/s)."""
    found = []
    for kernel in roofline["kernels"]:
        flop, moved, ms = (kernel.get(key) or 0 for key in ("flop", "bytes", "ms"))
        if flop > 0 and moved > 0 and ms > 0:
            found.append((kernel, flop / moved, flop * (kernel.get("launches") or 1) / ms * 1e-6))
    return found


def roofline_plot(roofline):
    """Operations per byte against operations per second, under what the machine can do at most."""
    peak, bandwidth = roofline["peak"]["gflop_per_second"], roofline["peak"]["gb_per_second"]
    kernels = known_kernels(roofline)
    total = sum(kernel.get("ms") or 0 for kernel in roofline["kernels"])
    shown = sum(kernel["ms"] for kernel, _, _ in kernels)
    caption = f"{roofline['model']}, {spell_threads(roofline['peak']['threads'])}: {number(peak)} GFLOP/s and {number(bandwidth)} GB/s measured."
    if not kernels or peak <= 0 or bandwidth <= 0:
        return nothing(caption)
    if total > shown:
        caption += f" Kernels that only move data are not shown; they take {100 * (total - shown) / total:.1f} % of the time."
    left, top, height = 46, 14, 330
    ridge = peak / bandwidth
    x = LogScale([*(intensity for _, intensity, _ in kernels), ridge], left, WIDTH - 14, margin=1.6)
    y = LogScale([*(rate for _, _, rate in kernels), peak], height - 40, top, margin=1.6)
    parts = axes(x, y, height)
    parts.append(roof(x, y, peak, bandwidth))
    classes = sorted({kernel["class"] for kernel, _, _ in kernels})
    # Large points first, so that they do not cover small ones.
    for kernel, intensity, rate in sorted(kernels, key=lambda found: -found[0]["ms"]):
        size = min(max(math.sqrt(kernel["ms"] / total) * 22, 2.5), 12)
        title = (
            f"{kernel['symbol']} ({kernel['class']}): {number(kernel['ms'])} ms, {number(rate)} GFLOP/s, "
            f"{number(intensity)} FLOP/byte, {100 * kernel['ms'] / total:.1f} % of the time, {100 * rate / peak:.0f} % of peak"
        )
        parts.append(marker(classes.index(kernel["class"]), x(intensity), y(rate), size, title))
    return figure("".join(parts), height, list(enumerate(classes)), caption)


def axes(x, y, height):
    parts = []
    for tick in thin_out(x):
        parts.append(line(x(tick), y.end, x(tick), y.start, class_="grid"))
        parts.append(label(x(tick), y.start + 16, number(tick), class_="tick", text_anchor="middle"))
    for tick in thin_out(y, 16):
        parts.append(line(x.start, y(tick), x.end, y(tick), class_="grid"))
        parts.append(label(x.start - 6, y(tick) + 4, number(tick), class_="tick", text_anchor="end"))
    parts.append(label(x.end, height - 6, "FLOP/byte", class_="tick", text_anchor="end"))
    parts.append(label(x.start + 4, y.end + 10, "GFLOP/s", class_="tick"))
    return parts


def roof(x, y, peak, bandwidth):
    """The slope of memory up to the ridge, then the peak of arithmetic."""
    corners = [(x.low, min(peak, x.low * bandwidth)), (peak / bandwidth, peak), (x.high, peak)]
    # Below the plot's lower edge the slope starts further right.
    if corners[0][1] < y.low:
        corners[0] = (y.low / bandwidth, y.low)
    return element("polyline", points=" ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in corners), class_="roof")
