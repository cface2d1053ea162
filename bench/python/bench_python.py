"""What the Python package costs: calls beside NumPy's, also with vectors, the import, routed products, and a gigabyte handed over by
DLPack.

Contestants take turns in one process, so that a disturbance meets all of them; figures are medians over the rounds, with the
smallest in brackets.

    bench_python.py [--only call,vector,import,patch,handover] [--rounds N] [--problems N] [--seed N] [--megabytes N]

PYTHONPATH names the package, ROOFTILE_LIBRARY the library (or both are installed), ROOFTILE_DB the database.
"""
import argparse
import resource
import statistics
import subprocess
import sys
import timeit

import numpy
import rooftile as rt

LARGEST = 1500  # sizes of random problems are log-uniform from 1 to this
MOST_WORK = 1e9


def line(name, samples, unit, scale=1.0, beside=None):
    """Prints median and minimum, and the median of the differences to another contestant of the same rounds."""
    more = ""
    if beside is not None:
        more = f", {statistics.median(x - y for x, y in zip(samples, beside)) * scale:+.2f} {unit} beside NumPy"
    print(f"{name:<44} {statistics.median(samples) * scale:9.2f} {unit} ({min(samples) * scale:.2f}){more}", flush=True)


def bench_call(options):
    """8 x 8 float32, as users write it: with the result made by the call."""
    random = numpy.random.default_rng(options.seed)
    a, b = random.random((8, 8), "float32"), random.random((8, 8), "float32")
    fixed, out = b.copy(), numpy.empty((8, 8), "float32")
    fixed.flags.writeable = False
    contestants = {
        "a @ b": lambda: a @ b,
        "rt.matmul(a, b)": lambda: rt.matmul(a, b),
        "rt.matmul(a, b, out=out)": lambda: rt.matmul(a, b, out=out),
        "a @ b.T": lambda: a @ b.T,
        "rt.matmul(a, b.T)": lambda: rt.matmul(a, b.T),
        "rt.matmul(a, b) with a read-only b": lambda: rt.matmul(a, fixed),
        "rt.matmul(a, b, alpha=2)": lambda: rt.matmul(a, b, alpha=2),
    }
    times = {name: [] for name in contestants}
    for _ in range(options.rounds * 10):
        for name, call in contestants.items():
            times[name].append(timeit.timeit(call, number=100) / 100)
    for name, samples in times.items():
        beside = None if "@" in name else times["a @ b.T" if "b.T" in name else "a @ b"]
        line(name, samples, "us", 1e6, beside)


def bench_vector(options):
    """A square matrix and a vector."""
    random = numpy.random.default_rng(options.seed)
    for n in (64, 256, 512, 1024, 2048, 4096, 8192):
        a, x = random.random((n, n), "float32"), random.random(n, "float32")
        number = max(1, int(1e6 / n**2))
        numpys, ours = [], []
        for _ in range(options.rounds * 3):
            for call, times in ((lambda: a @ x, numpys), (lambda: rt.matmul(a, x), ours)):
                call()
                times.append(timeit.timeit(call, number=number) / number)
        line(f"a @ x, {n} x {n}", numpys, "us", 1e6)
        line(f"rt.matmul(a, x), {n} x {n}", ours, "us", 1e6, numpys)


def bench_import(options):
    """Processor and wall time of `import rooftile` in a fresh interpreter, which does not load NumPy."""
    code = ("import time; w, p = time.perf_counter(), time.process_time(); import rooftile;"
            "print(time.perf_counter() - w, time.process_time() - p); import sys; assert 'numpy' not in sys.modules")
    samples = []
    for _ in range(options.rounds * 2 + 1):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        samples.append(tuple(map(float, done.stdout.split())))
    line("import rooftile, wall time", [wall for wall, _ in samples[1:]], "ms", 1e3)
    line("import rooftile, processor time", [processor for _, processor in samples[1:]], "ms", 1e3)


def problems(options):
    random = numpy.random.default_rng(options.seed)
    while True:
        m, n, k = numpy.exp(random.uniform(0, numpy.log(LARGEST), 3)).astype(int)
        if m * n * k <= MOST_WORK:
            yield random.random((m, k), "float32"), random.random((k, n), "float32")


def fastest(a, b):
    number = max(1, int(2e6 / (a.shape[0] * a.shape[1] * b.shape[1] + 1e3)))
    return timeit.timeit(lambda: a @ b, number=number) / number


def bench_patch(options):
    """Time of `a @ b` over random problems, plain and within numpy_patch; each problem counts with its fastest round."""
    plain, patched, routed, slower = 0.0, 0.0, 0, 0
    for _, (a, b) in zip(range(options.problems), problems(options)):
        a @ b
        with rt.numpy_patch() as patch:
            a @ b
        routed += patch.products
        best = {False: 1e9, True: 1e9}
        for turn in range(2 * options.rounds):
            # Plain first in one round, patched first in the next.
            if turn % 4 in (1, 2):
                with rt.numpy_patch():
                    best[True] = min(best[True], fastest(a, b))
            else:
                best[False] = min(best[False], fastest(a, b))
        plain, patched = plain + best[False], patched + best[True]
        slower += best[True] > 1.1 * best[False] + 1e-6
    print(f"numpy_patch: {options.problems} random problems, {routed} routed: {patched / plain:.4f} x plain NumPy "
          f"({patched * 1e3:.1f} ms, {plain * 1e3:.1f} ms), {slower} slower by more than 10 % and 1 us")


class Handed:
    """Has an array's __dlpack__ only."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


def memory_mb(field):
    with open("/proc/self/status") as file:
        (found,) = [row.split()[1] for row in file if row.startswith(field + ":")]
    return int(found) / 1024


def bench_handover(options):
    """The peak of the process's memory while a product reads a large operand that it gets by DLPack, over what it had before,
    without the result."""
    k = 16
    rows = options.megabytes * 2**20 // (4 * k)
    a, b = Handed(numpy.ones((rows, k), "float32")), numpy.ones((k, 1), "float32")
    out = numpy.zeros((rows, 1), "float32")
    rt.matmul(Handed(a.array[:1000]), b, out=out[:1000])  # opens the session
    out[:] = 1
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the peak
    before = memory_mb("VmRSS")
    rt.matmul(a, b, out=out)
    grown = memory_mb("VmHWM") - before
    assert (out == k).all()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    print(f"DLPack: an operand of {a.array.nbytes / 2**20:.0f} MiB: memory grew by {grown:.1f} MiB at its peak "
          f"({100 * grown / (a.array.nbytes / 2**20):.2f} % of it), {faults} pages were read from disk")


def main():
    benches = {"call": bench_call, "vector": bench_vector, "import": bench_import, "patch": bench_patch, "handover": bench_handover}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default=",".join(benches), help="benches to run (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--problems", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--megabytes", type=int, default=1024)
    options = parser.parse_args()
    wanted = options.only.split(",")
    if not set(wanted) <= set(benches):
        parser.error(f"--only is {options.only}; known: {', '.join(benches)}")
    for name in wanted:
        benches[name](options)


if __name__ == "__main__":
    main()
