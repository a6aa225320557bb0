"""The page that `./dev bench --html` writes: well-formed, whole without a network, and safe whatever models are called."""

import html.parser
import re
import sys

import pytest
from support.tool import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import report  # noqa: E402
from page import passes  # noqa: E402
from page.page import render  # noqa: E402
from page.plots import dot_plot, known_kernels, roofline_plot  # noqa: E402
from page.svg import LinearScale, LogScale, number  # noqa: E402

HOSTILE = "<script>alert(1)</script>\"'&"
VOID = {"meta"}


class Reader(html.parser.HTMLParser):
    """Follows the nesting of elements, and collects their text and attributes."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.texts, self.attributes = [], [], [], []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)


def kernel(**changes):
    return {"symbol": "Conv.0", "class": "contract", "flop": 2e6, "bytes": 1e5, "ms": 0.1, "launches": 1} | changes


def roofline(*kernels, model="m"):
    return {"model": model, "peak": {"threads": 1, "gflop_per_second": 80.0, "gb_per_second": 20.0}, "kernels": list(kernels)}


def results(model="resnet50"):
    times = {(1, "fathom"): 4, (1, "onnxruntime"): 6, (2, "fathom"): 2.5, (2, "onnxruntime"): 2}
    return {
        "context": {"clock": "wall", "versions": {"fathom": "0.1"}},
        "benchmarks": [report.describe(model, threads, peer, [(ms, ms)]) for (threads, peer), ms in times.items()],
        "models": [{"model": model, "memory": dict.fromkeys(report.MEMORY_COLUMNS, 1e6) | {"fathom": 0, "onnxruntime": -1}}],
        "rooflines": [roofline(kernel(), kernel(symbol=model), model=model)],
        "skipped": [{"peer": "tvm", "reason": f"no {model}"}],
        "kernels": [{"name": f"{name}/fathom", "flops": 1e9, "operations": 1e9, "uses": 1} for name in ("peak", model)]
        + [{"name": "peak/fma", "flops": 8e10}],
    }


def test_all_is_shown():
    page = Reader(render(results()))
    text = " ".join(page.texts)
    for word in ("resnet50", "6 (1.50)", "Latency", "Threads", "Memory", "Left out", "Single kernels", "no resnet50", "GFLOP/s"):
        assert word in text
    assert page.tags.count("svg") > 4
    assert ("class", "worse") in page.attributes


def test_the_whole_comes_first_and_doubts_beside_it():
    data = results()
    data["context"]["cpu"] = "neoverse-v1"
    data["loads"] = [{"model": "resnet50", "others": 0.25}]
    data["benchmarks"] += [report.describe("small", threads, peer, [(ms, ms), (2 * ms, 2 * ms)]) for threads, peer, ms in [(1, "fathom", 1), (2, "fathom", 3)]]
    text = " ".join(Reader(render(data)).texts)
    assert text.index("1.50 × as fast as onnxruntime with 1 thread, 0.80 × with 2 threads") < text.index("Latency") and "neoverse-v1" in text
    assert "others took up to 25%" in text and "Slower than with fewer threads: small with 2 threads (0.33 ×)" in text
    assert "small, fathom: 1.5 ms, most runs 1 to 2" in text
    quiet = " ".join(Reader(render(results())).texts)
    assert "busy" not in quiet and "Slower than" not in quiet


def test_the_page_needs_nothing_else():
    page = render(results())
    assert not re.search(r"(https?:)?//[a-z]", page.replace("// A finger", ""))
    for name, value in Reader(page).attributes:
        assert name not in ("src", "href") and not name.startswith("on") and "url(" not in (value or "")


def test_names_of_models_are_only_text():
    page = Reader(render(results(HOSTILE)))
    assert page.tags.count("script") == 1
    assert any(HOSTILE in text for text in page.texts)


@pytest.mark.parametrize("data", [{}, {"benchmarks": [], "models": [], "rooflines": [], "skipped": []}])
def test_nothing_measured(data):
    assert "Nothing was measured." in Reader(render(data)).texts


def test_peers_may_lack_times():
    data = results()
    data["benchmarks"] += [report.describe("other", 1, "iree", [(1, 1)])]
    page = render(data)
    Reader(page)
    assert "iree" in page and "iree" not in render(results())


def test_a_roofline_shows_what_computes():
    kernels = [kernel(), kernel(flop=0), kernel(ms=None), kernel(flop=None), kernel(bytes=0), kernel(launches=3, ms=0.3)]
    assert [(intensity, pytest.approx(rate)) for _, intensity, rate in known_kernels(roofline(*kernels))] == [(20, 20), (20, 20)]
    assert "only move data" in roofline_plot(roofline(kernel(), kernel(flop=0)))
    assert "Nothing was measured" in roofline_plot(roofline(kernel(flop=0)))
    assert "Nothing was measured" in roofline_plot(roofline())


def test_dots_of_nothing_and_of_equal_values():
    assert "Nothing was measured" in dot_plot({"a": {"fathom": None}}, ["fathom"], "ms", "")
    assert 'class="mark' in dot_plot({"a": {"fathom": 3}, "b": {}}, ["fathom"], "ms", "")


def test_scales():
    log = LogScale([1, 1000], 0, 100)
    assert log(1) < log(10) < log(1000) <= 100 and log.ticks() == [1, 10, 100, 1000]
    assert LogScale([], 0, 1)(1) == pytest.approx(0.5)
    linear = LinearScale([0.5, 2], 10, 20)
    assert linear(0) == 10 and linear(2) < 20 and 0 in linear.ticks() and max(linear.ticks()) <= linear.high
    assert LinearScale([], 0, 1).ticks()
    assert [number(value) for value in (0, 0.01234, 1, 12.34, 1234.5)] == ["0", "0.0123", "1", "12.3", "1234"]


@pytest.mark.parametrize("name", ["resnet18", HOSTILE])
def test_page_of_policies(name):
    """Every policy's numbers are in it, and what a model without a planned memory lacks is left out."""
    row = {"ms": 12.5, "graph_seconds": 0.25, "compile_seconds": 3, "memory_bytes": None, "kernels": 77}
    page = Reader(passes.render({"context": {}, "models": [{"model": name, "policies": {"default": row, "none": row | {"ms": 25}}}]}))
    assert page.tags.count("script") == 1 and page.texts.count("77") == 2
    assert {"12.5", "25", "250"} <= {text.strip() for text in page.texts}
