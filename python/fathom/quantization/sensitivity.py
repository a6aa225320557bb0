"""How much of the outputs' error each product brings, and which of them stay in floating point so that a bound is kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import Error
from ..session import Session
from .correction import switched
from .network import Network
from .plan import Plan, Product, make_plan
from .rewrite import Settings, rewrite
from .runs import Runner

# Samples by which products are ordered: each is run once more for every product. The bound is kept on all samples.
MOST = 8


class OutputError:
    """The relative error of outputs: the root of the mean square of differences, by that of what they should be; the worst output's."""

    def __init__(self, names: list[str]):
        self.names = names
        self._wrong, self._all = np.zeros(len(names)), np.zeros(len(names))

    def add(self, got: list, want: list):
        for i, (a, b) in enumerate(zip(got, want)):
            if not isinstance(b, np.ndarray) or b.dtype.kind != "f":
                continue
            if a.shape != b.shape:
                # As of detectors, that find more or fewer.
                self._wrong[i] = np.inf
                continue
            a, b = a.astype(np.float64), b.astype(np.float64)
            # Infinities, as masks have them, must be the same.
            differ = (a != b) & ~(np.isnan(a) & np.isnan(b))
            self._wrong[i] += np.sum(np.square(a[differ] - b[differ]))
            self._all[i] += np.sum(np.square(b[np.isfinite(b)]))

    def values(self) -> dict[str, float]:
        wrong = np.where(np.isfinite(self._wrong), self._wrong, np.inf)
        ratios = np.sqrt(np.where(wrong == 0, 0, wrong / np.where(self._all == 0, 1e-300, self._all)))
        return dict(zip(self.names, map(float, ratios)))

    def worst(self) -> float:
        return max(self.values().values(), default=0.0)


def error_of(session: Session, floats: Session, runner: Runner, what: str, more=None, most=None) -> OutputError:
    error = OutputError([info.name for info in floats.outputs])
    for (_, got), (_, want) in zip(runner.run(session, what, more, most), runner.run(floats, what, None, most)):
        error.add(got, want)
    return error


def sensitivities(network: Network, plan: Plan, settings: Settings, floats: Session, runner: Runner) -> dict[str, float]:
    """The outputs' error with a single product quantised, by its result: one model of all of them, so that it is compiled once."""
    runner.note("compiling the model with a switch at every product")
    model, switches = switched(network, plan, settings)
    session = runner.compile(model)
    found = {}
    for number, product in enumerate(plan.products, 1):
        # Where nothing reads a product, it has no switch left.
        switch = {name: np.array(result == product.result) for result, name in switches.items()}
        what = f"sensitivity of {number} of {len(plan.products)}"
        found[product.result] = error_of(session, floats, runner, what, switch, MOST).worst()
    return found


@dataclass
class Decision:
    """A product that stays in floating point, what it alone would bring, and the error without it and all before."""

    product: Product
    sensitivity: float
    left: float | None = None


@dataclass
class Chosen:
    plan: Plan
    model: object
    error: OutputError
    decisions: list[Decision]


def search(network: Network, plan: Plan, settings: Settings, floats: Session, runner: Runner, bound: float, forbidden) -> Chosen:
    """As few products in floating point as keep the bound, the most sensitive first.

    Halves the number that is looked for, as the error hardly ever grows when one more is left; what is returned was measured.
    """
    made: dict[int, Chosen] = {}
    found: dict[str, float] = {}

    def order() -> list[Product]:
        if not found:
            found.update(sensitivities(network, plan, settings, floats, runner))
        return sorted(plan.products, key=lambda product: -found[product.result])

    def try_without(count: int) -> Chosen:
        if count not in made:
            left = order()[:count] if count else []
            fewer = make_plan(network, [product for product in plan.products if product not in left], forbidden)
            model = rewrite(network, fewer, settings)
            runner.note(f"compiling the model with {count} of {len(plan.products)} products in floating point")
            error = error_of(runner.compile(model), floats, runner, f"error with {count} left")
            made[count] = Chosen(fewer, model, error, [Decision(product, found[product.result]) for product in left])
        return made[count]

    low, high = 0, len(plan.products)
    if try_without(0).error.worst() > bound:
        while high - low > 1:
            middle = (low + high) // 2
            if try_without(middle).error.worst() > bound:
                low = middle
            else:
                high = middle
        if high == len(plan.products):
            least = min(chosen.error.worst() for chosen in made.values())
            raise Error(
                f"no product can be quantised within a relative error of {bound:g}: {least:.3g} is the least that was found",
                "F3001",
                3,
                hint="allow more with --max-error, or try another --method",
            )
        low = high
    chosen = made[low]
    for number, decision in enumerate(chosen.decisions, 1):
        decision.left = made[number].error.worst() if number in made else None
    return chosen
