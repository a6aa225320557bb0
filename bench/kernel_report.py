"""What kernel_bench measured, as tables: rates, shares of the peak, and sums over ResNet-50's convolutions."""

import statistics

PEAK = "peak/fma"
# OpenBLAS gets a convolution as the product that it comes to, so that it does not count among who computes convolutions.
PRODUCTS_ONLY = "openblas"


class KernelResults:
    """From rows in Google Benchmark's format, named KERNEL/SIDE. Rates are in GFLOP/s, medians over the repetitions."""

    def __init__(self, rows):
        rows = [row for row in rows if row.get("run_type", "iteration") == "iteration" and "flops" in row]
        # Repetitions run in random order; this is the order of the program.
        rows.sort(key=lambda row: row.get("family_index", 0))
        measured = {}
        for row in rows:
            measured.setdefault(row["name"], []).append(row["flops"] * 1e-9)
        self.peak = statistics.median(measured.pop(PEAK, [0]))
        self.rates, self.uses, self.operations, self.constants = {}, {}, {}, {}
        for name, rates in measured.items():
            kernel, _, side = name.rpartition("/")
            self.rates.setdefault(kernel, {})[side] = statistics.median(rates)
        self.sides = list(dict.fromkeys(side for row in self.rates.values() for side in row))
        for row in rows:
            kernel = row["name"].rpartition("/")[0]
            self.operations[kernel] = row.get("operations", 0)
            if row.get("uses"):
                self.uses[kernel] = int(row["uses"])
            if row.get("constant_ms") and self.peak:
                # As if the machine that the constants are from had this one's peak.
                self.constants[kernel] = row["operations"] / row["constant_ms"] * 1e-6 * self.peak / (row["constant_peak"] * 1e-9)

    def compared(self):
        """The rates of all sides, with what stands in for those that are not installed; and the names of both."""
        rows = {kernel: row | ({"constant": self.constants[kernel]} if kernel in self.constants else {}) for kernel, row in self.rates.items()}
        return rows, self.sides + ["constant"] * bool(self.constants)

    def total_ms(self, rates):
        """Over all uses of all kernels that have some, with these rates; nothing where one is missing."""
        if not self.uses or any(kernel not in rates for kernel in self.uses):
            return None
        return sum(count * self.operations[kernel] / rates[kernel] * 1e-6 for kernel, count in self.uses.items())

    def totals(self):
        """{who: ms} over ResNet-50's convolutions."""
        sides = [side for side in self.sides if side != PRODUCTS_ONLY]
        rates = {side: {kernel: row[side] for kernel, row in self.rates.items() if side in row} for side in sides}
        libraries = [side for side in sides if side != "fathom"]
        if libraries:
            rates["best library of each layer"] = {
                kernel: max(rates[side].get(kernel, 0) for side in libraries) for kernel in self.uses if any(kernel in rates[side] for side in libraries)
            }
        rates["constants: best library of each layer on another machine, scaled by the peak"] = self.constants
        found = {who: self.total_ms(row) for who, row in rates.items()}
        return {who: ms for who, ms in found.items() if ms is not None}

    def notes(self):
        """The totals as sentences."""
        found = self.totals()
        head = [f"Sum over the {sum(self.uses.values())} convolutions of ResNet-50, ms:"] if found else []
        return head + [f"{ms:.1f} {who}" for who, ms in found.items()]

    def lines(self):
        """A table for the terminal."""
        rows, sides = self.compared()
        others = [side for side in sides if side != "fathom"]
        lines = [f"multiply-adds in registers: {self.peak:.1f} GFLOP/s"] if self.peak else []
        lines.append(f"{'kernel':30} {'fathom GFLOP/s':>14} {'of peak':>8}" + "".join(f"{other:>10} {'ratio':>6}" for other in others))
        for kernel, row in rows.items():
            ours = row.get("fathom")
            share = f"{100 * ours / self.peak:.0f} %" if ours and self.peak else "-"
            line = f"{kernel:30} {spell(ours):>14} {share:>8}"
            for other in others:
                theirs = row.get(other)
                line += f"{spell(theirs):>10} {f'{ours / theirs:.2f}' if ours and theirs else '-':>6}"
            lines.append(line)
        return lines + self.notes()


def spell(rate):
    return f"{rate:.1f}" if rate else "-"
