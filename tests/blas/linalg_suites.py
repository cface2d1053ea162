#!/usr/bin/python3
"""NumPy's, SciPy's and scikit-learn's own tests of linear algebra come out the same with and without the drop-in.

Usage: linalg_suites.py BUILD [SUITE...]     SUITE: numpy.linalg, scipy.linalg, sklearn.decomposition (default: all)

Runs each suite over the BLAS of the machine alone, and then under `rooftile run`:

  untuned         without a database: the host computes
  untuned-device  without a database, but with --tier device: every call goes to the device
  tuned           with a database by which the device is faster in every call of 100,000 operations and more
  tuned-device    with this database and --tier device

and prints the tests whose outcome differs, and how many kernels were compiled and how many calls without a tuned kernel the
database has counted (at least: a context counts 256 problems). A test that differs is run three times more in both ways, because some use random
numbers without a seed; one that does not come out the same over the BLAS alone is named, but is no failure. Exit status: 0 without
a difference, 1 otherwise, 77 where ROOFTILE_LINALG is not set or a package is missing (scripts/test --linalg sees to both).
"""
import collections
import contextlib
import importlib.util
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

SUITES = ("numpy.linalg", "scipy.linalg", "sklearn.decomposition")
WAYS = ("untuned", "untuned-device", "tuned", "tuned-device")
REPEATS = 3
NOT_SET_UP = 77
PACKAGES = pathlib.Path("/usr/lib/python3/dist-packages")  # where Debian's packages put modules
LONGEST_S = 3600


class Runner:
    def __init__(self, build, folder):
        self.program = build / "rooftile"
        self.folder = folder
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROOFTILE_", "XDG_", "LD_", "PYTEST"))}
        self.environment = dict(inherited, HOME=str(folder), PYTHONDONTWRITEBYTECODE="1")
        self.planted = folder / "planted.db"
        subprocess.run([build / "tests" / "write_tuned_database", self.planted, "slow", "f64"], check=True)

    def run(self, way, *tests):
        """Outcomes by name of the test, and what the device did."""
        database, cache = self.folder / "copy.db", self.folder / "cache"
        shutil.copy(self.planted, database)
        shutil.rmtree(cache, ignore_errors=True)
        environment, prefix = dict(self.environment, ROOFTILE_CACHE=str(cache)), []
        if way != "alone":
            prefix = [str(self.program), "run", *(["--tier", "device"] if way.endswith("device") else []), "--"]
        if way.startswith("tuned"):
            # Deterministic calls wait for their kernel, where others let the host answer until it is compiled.
            environment |= {"ROOFTILE_DB": str(database), "ROOFTILE_DETERMINISTIC": "on"}
        report, said = self.folder / "report.xml", self.folder / f"{way}.txt"
        report.unlink(missing_ok=True)
        # Only Python's output is captured: what the drop-in says goes to the file.
        command = [*prefix, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--capture=sys",
                   f"--rootdir={PACKAGES}", "-o", "junit_family=xunit1", f"--junitxml={report}", "--pyargs", *tests]
        with said.open("w") as file:
            code = subprocess.run(command, cwd=self.folder, env=environment, stdout=file, stderr=subprocess.STDOUT,
                                  stdin=subprocess.DEVNULL, timeout=LONGEST_S).returncode
        # 0: all passed; 1: some failed. All else means that not all of them ran.
        if code not in (0, 1) or not report.exists():
            sys.exit(f"{' '.join(command)}: exit code {code}\n" + said.read_text()[-3000:])
        return outcomes(report), work(database, cache)


def work(database, cache):
    """Kernels that were compiled, and calls that the database has counted."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        (calls,) = connection.execute("SELECT coalesce(sum(calls), 0) FROM untuned_problems").fetchone()
    return len(list(cache.glob("spirv/*.spv"))), calls


def outcomes(report):
    """What became of each test. Some names occur several times; their outcomes are in the order of the run."""
    found = collections.defaultdict(list)
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        tags = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[case.get("classname"), case.get("name")].append(tags[0] if tags else "passed")
    return {test: " ".join(all_of_it) for test, all_of_it in found.items()}


def place(test):
    """The argument of pytest that names a test: its file, its class where it has one, and its name."""
    classname, name = test
    parts = classname.split(".")
    length = next(n for n in range(len(parts), 0, -1) if PACKAGES.joinpath(*parts[:n]).with_suffix(".py").exists())
    return "::".join([str(PACKAGES.joinpath(*parts[:length]).with_suffix(".py")), *parts[length:], name])


def classify(runner, way, test):
    """How a test that differs comes out when it is run alone, in both ways; and whether the drop-in is to blame."""
    alone, under = ([next(iter(runner.run(each, place(test))[0].values())) for _ in range(REPEATS)] for each in ("alone", way))
    return f"again: {', '.join(alone)} alone; {', '.join(under)} {way}", len(set(alone)) == 1


def count(results):
    counted = collections.Counter(word for outcome in results.values() for word in outcome.split())
    return f"{sum(counted.values())} tests, {counted['passed']} passed, {counted['failure'] + counted['error']} failed, {counted['skipped']} skipped"


def compare(runner, suite):
    expected, _ = runner.run("alone", suite)
    print(f"{suite} alone: {count(expected)}", flush=True)
    wrong = 0
    for way in WAYS:
        got, (kernels, calls) = runner.run(way, suite)
        differing = sorted(test for test in expected.keys() | got.keys() if expected.get(test) != got.get(test))
        print(f"{suite} {way}: {count(got)}, {len(differing)} differ; {kernels} kernels, {calls} calls", flush=True)
        for test in differing:
            again, steady = classify(runner, way, test)
            wrong += steady
            print(f"  {'.'.join(test)}: {expected.get(test)} alone, {got.get(test)} {way}; {again}", flush=True)
        if way.endswith("device") and kernels == 0:
            wrong += 1
            print(f"  {way}: the device computed nothing")
    return wrong


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    if "ROOFTILE_LINALG" not in os.environ:
        print("takes minutes, so ROOFTILE_LINALG=on has to ask for it: scripts/test --linalg release -L linalg")
        return NOT_SET_UP
    suites = sys.argv[2:] or SUITES
    for suite in suites:
        if suite not in SUITES:
            print(f"there is no suite '{suite}': {', '.join(SUITES)}")
            return 2
    missing = [module for module in (*[suite.partition(".")[0] for suite in suites], "pytest", "hypothesis")
               if importlib.util.find_spec(module) is None]
    if missing:
        print(f"missing: {', '.join(missing)}: scripts/packages-linalg")
        return NOT_SET_UP
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder))
        return 1 if sum(compare(runner, suite) for suite in suites) else 0


sys.exit(main())
