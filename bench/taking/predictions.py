"""Which predictions of the model and of Mesa's compilers were wrong."""
import collections
import csv
import math
import re
import statistics

from compiled_figures import DEFAULTS
from taking.questions import changed, measured, settings
from taking.tables import by_problem, numbers

FACTOR = 1.5  # A prediction that is off by more is wrong.
TENTH = 1.1  # A choice that costs more is wrong.
ORDER = 1.05  # Kernels whose counts differ by more have an order; it is wrong where their times differ by more the other way.
FULL = 2048  # The order is that of a full device: m and n are at least so large.
CHIPS = [(0x10DE, r"RTX 20|GTX 16|T4|TITAN RTX", "162"), (0x10DE, "", "172"), (0x1002, r"RX 6|NAVI2", "NAVI21"),
         (0x1002, r"MI2|MI3", "MI200"), (0x1002, r"GFX115|8060S|890M", "GFX1151"), (0x1002, "", "NAVI31"), (0x8086, r"B5|BMG|LNL", "bmg"),
         (0x8086, "", "dg2")]


def short(text):
    v = settings(text)
    return f"{v['family']} {v.get('tile_m')}x{v.get('tile_n')}x{v.get('tile_k')} {v.get('reg_m')}x{v.get('reg_n')} u{v.get('unroll_k')}"

class Predictions:
    """judged: how many. wrong: a line for each kind of which some are wrong."""

    def __init__(self):
        self.judged, self.wrong = 0, []

    def times(self, what, pairs):
        """pairs: (name, predicted, measured)."""
        ratios = sorted(((measured / predicted, name) for name, predicted, measured in pairs if predicted > 0 and measured > 0),
                        key=lambda one: -abs(math.log(one[0])))
        wrong = [one for one in ratios if abs(math.log(one[0])) > math.log(FACTOR)]
        self.note(what, f"measured over predicted {statistics.median(r for r, _ in ratios):.2f} (median), beyond a factor of {FACTOR}" if wrong
                  else "", len(ratios), wrong)

    def choices(self, what, costs):
        """costs: (time over the best one's, name)."""
        self.note(what, "costs more than a tenth", len(costs), sorted((one for one in costs if one[0] > TENTH), reverse=True))

    def note(self, what, how, judged, wrong):
        self.judged += judged
        if wrong:
            self.wrong.append(f"{what}: {how} for {len(wrong)} of {judged}" + "".join(f"; {name} {ratio:.2f} x" for ratio, name in wrong[:5]))

    def of_answers(self, answers):
        for row in answers:
            self.judged += row["verdict"] in ("as expected", "not so")
            if row["verdict"] == "not so":
                self.wrong.append(f"experiment, {row['experiment']}, {row['problem']}, {changed(row)}: expected {row['expected']}, measured "
                                  f"{measured(row)}")

    def of_model(self, results):
        for _, rows in results.tables["dispatch"]:
            name = lambda row: f"{row['m']}x{row['n']}x{row['k']} {row['trans_a']}{row['trans_b']}"
            for what in ("device", "host", "host1", "resident_device", "resident_host1"):
                self.times(f"model, calls, {what.replace('_', ' ')}", [
                    (name(row), *pair) for row in rows for pair in numbers([row], f"predicted_{what}_ns", f"{what}_ns")])
            self.choices("model, tier of a call", [(1 + float(row["regret"]), name(row)) for row in rows if row["regret"]])
        for file, rows in results.tables["gemm"]:
            self.choices(f"model, tier in {file}", [
                (times["auto"] / min(best), problem) for problem, times in by_problem(rows).items() if "auto" in times
                for best in [[times[tier] for tier in ("openblas", "openblas1", "tuned") if tier in times]] if best])
        for _, rows in results.tables["floor"]:
            for part in ("dispatches", "copies", "calls"):
                self.times(f"model, {part}", [(row["what"] if part == "calls" else f"{row['what']} {row['size']}", *pair) for row in rows
                                              if row["part"] == part for pair in numbers([row], "predicted_ns", "wall_ns")])

    def of_compilers(self, results, folder, chip):
        """Counts of Mesa's compilers against registers and times of the device's own driver, for kernels in both."""
        vendor, device = results.device["vendor"], results.device["name"]
        chip = chip or next((chip for of_vendor, pattern, chip in CHIPS if of_vendor == vendor and re.search(pattern, device, re.I)), None)
        key = lambda text: frozenset({**DEFAULTS, **settings(text)}.items())
        with open(folder / "tests/model/data/compiled_kernels.csv", newline="") as file:
            rows = [row for row in csv.DictReader(line for line in file if not line.startswith("#")) if row["chip"] == chip]
        counted = {(row["class"], key(row["kernel"])): row for row in rows}
        if not counted:
            results.missing.append(f"counts of gpu-compilers for {chip or 'a device of this vendor'}")
        both = {one: (short(text), registers, counted[signature, key(text)]) for one, signature, text, registers in results.kernels
                if (signature, key(text)) in counted}
        self.times(f"gpu-compilers ({chip}), registers", [(text, float(row["registers"]), registers)
                                                          for text, registers, row in both.values() if registers])
        issued = {one: 1 + int(row["others"]) / int(row["products"]) for one, (_, _, row) in both.items()}
        times = collections.defaultdict(dict)
        for problem, one, ns in results.samples:
            if one in both and min(map(int, problem.split("x")[:2])) >= FULL:
                times[problem][one] = ns
        # The first of a pair is expected to be faster.
        pairs = [(of_problem[x] / of_problem[y], f"{problem}, {both[x][0]} over {both[y][0]}") for problem, of_problem in times.items()
                 for x in of_problem for y in of_problem if issued[y] > ORDER * issued[x]]
        self.note(f"gpu-compilers ({chip}), order by others for each product", "the other way", len(pairs),
                  sorted((pair for pair in pairs if pair[0] > ORDER), reverse=True))
