#!/usr/bin/env python3
"""How long an equal machine needs until it can use what another one has tuned, and whether it chooses the same.

Tunes the default set in a database of its own (or takes a tuned one), exports it, imports it into an empty database with
`rooftile db import --certify` and without any cache, and compares `rooftile explain --json` of both for the tuned problems and
for untuned ones. The second database takes over the exporter's calibration first, so that only kernels and their times can
differ, and is then compared again with a calibration of its own. Needs a quiet machine."""
import argparse
import csv
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).parents[1]
UNTUNED = [(300, 300, 300), (96, 1000, 64), (1, 2000, 3000), (2000, 1, 3000), (700, 33, 1500), (1500, 1500, 200), (48, 48, 4096),
           (900, 120, 120), (64, 3000, 500), (17, 19, 23)]


def problems():
    with (SOURCE / "bench/shapes/default.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    tuned = [(int(r["m"]), int(r["n"]), int(r["k"]), r["trans_a"] == "1", r["trans_b"] == "1") for r in rows]
    return tuned, [(*sizes, i % 4 == 1, i % 4 == 2) for i, sizes in enumerate(UNTUNED)]


class Machine:
    """The program with a database and caches of its own."""

    def __init__(self, program, folder):
        self.program, self.folder, self.database = program, pathlib.Path(folder), pathlib.Path(folder) / "rooftile.db"
        self.folder.mkdir(exist_ok=True)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROOFTILE_", "XDG_"))}
        self.environment = dict(inherited, HOME=str(folder), ROOFTILE_DB=str(self.database))

    def run(self, *arguments):
        return subprocess.run([self.program, *map(str, arguments)], env=self.environment, check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def choice(self, problem, *more):
        m, n, k, trans_a, trans_b = problem
        answer = json.loads(self.run("explain", "--m", m, "--n", n, "--k", k, *["--trans-a"] * trans_a, *["--trans-b"] * trans_b,
                                     *more, "--json"))
        return answer["tier"], answer["kernel"], answer["score"]


def compare(name, exporter, importer, wanted):
    kernels = tiers = 0
    for problem in wanted:
        (tier, _, score), (tier_here, _, score_here) = exporter.choice(problem), importer.choice(problem)
        _, kernel, _ = exporter.choice(problem, "--tier", "device")
        _, kernel_here, _ = importer.choice(problem, "--tier", "device")
        kernels += kernel == kernel_here
        tiers += tier == tier_here
        if kernel != kernel_here:
            print(f"  {problem}: {kernel} there, {kernel_here} here")
        if tier != tier_here:
            print(f"  {problem}: {tier} (score {score}) there, {tier_here} (score {score_here}) here")
    print(f"{name}: {kernels} of {len(wanted)} kernels and {tiers} of {len(wanted)} tiers are the exporter's")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=SOURCE / "build/rooftile")
    parser.add_argument("--tuned", type=pathlib.Path, help="a database with the default set tuned on this machine; default: tune one")
    parser.add_argument("--budget", default="5m", help="of tuning")
    parser.add_argument("--repeat", type=int, default=3, help="imports into an empty database")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        exporter = Machine(arguments.program, f"{scratch}/exporter")
        if arguments.tuned:
            shutil.copy(arguments.tuned, exporter.database)
        else:
            print(exporter.run("tune", "--budget", arguments.budget))
        exported = exporter.folder / "tuned.db"
        exporter.run("db", "export", exported)
        for turn in range(arguments.repeat):
            importer = Machine(arguments.program, f"{scratch}/importer{turn}")
            start = time.monotonic()
            said = importer.run("db", "import", exported, "--certify")
            total = time.monotonic() - start
            for line in said.splitlines():
                if re.match(r"imported data|\d+ kernels:|times here|calibration:", line):
                    print(line)
            print(f"{total:.1f} s in all, calibration included")
        tuned, untuned = problems()
        print("with this machine's own calibration")
        compare("tuned problems", exporter, importer, tuned)
        compare("untuned problems", exporter, importer, untuned)
        connection = sqlite3.connect(importer.database)
        connection.executescript("""
            DELETE FROM calibration_figures WHERE calibration_id IN (SELECT id FROM calibrations WHERE origin_id IS NULL);
            DELETE FROM calibrations WHERE origin_id IS NULL;""")
        connection.commit()
        connection.close()
        print("with the exporter's calibration")
        compare("tuned problems", exporter, importer, tuned)
        compare("untuned problems", exporter, importer, untuned)


if __name__ == "__main__":
    sys.exit(main())
