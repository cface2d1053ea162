#!/usr/bin/env python3
"""Whether a tuning run beside a busy program finds kernels as fast as a run on a machine of its own.

Tunes twice with empty caches and databases, the second time beside programs that keep one processor each busy, and then runs
both winners of every problem in turns without them (rooftile-bench budget). Wanted: each within 10 %. Needs a quiet machine. Arguments
after -- go to `rooftile tune`."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).parents[1]
WITHIN = 0.1
FINISHED = (0, 1)  # 1: no problem could be tuned, although there was time (docs/environment.md).


def tune(program, folder, budget, arguments):
    """Returns the database of a run that found its caches empty."""
    folder.mkdir()
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROOFTILE_", "XDG_", "MESA_SHADER_CACHE"))}
    database = folder / "rooftile.db"
    done = subprocess.run([program, "tune", "--budget", budget, *arguments], text=True, stdout=subprocess.PIPE,
                          env=dict(inherited, HOME=str(folder), ROOFTILE_DB=str(database)))
    if done.returncode not in FINISHED:
        sys.exit(f"rooftile tune ended with exit code {done.returncode}")
    for line in done.stdout.splitlines():
        if re.match(r"\d+ of \d+ problems in |open: |noise: ", line):
            print(f"  {line}", flush=True)
    return database


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=SOURCE / "build/rooftile", type=pathlib.Path)
    parser.add_argument("--compare", default=SOURCE / "build/bench/rooftile-bench", type=pathlib.Path)
    parser.add_argument("--budget", default="60s", help="of each run (60s)")
    parser.add_argument("--busy", default=1, type=int, help="busy programs (1)")
    parser.add_argument("--seconds", default=1.0, type=float, help="of comparison for each problem (1)")
    parser.add_argument("tune", nargs="*", help="more arguments of rooftile tune")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        print("alone", flush=True)
        alone = tune(given.program, folder / "alone", given.budget, given.tune)
        print(f"beside {given.busy} busy programs", flush=True)
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(given.busy)]
        try:
            beside = tune(given.program, folder / "beside", given.budget, given.tune)
        finally:
            for program in busy:
                program.kill()
                program.wait()
        text = subprocess.run([given.compare, "budget", beside, alone, "--seconds", str(given.seconds)], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    print(text, end="")
    shares = [float(share) / 100 for share in re.findall(r"^\S+ [nt]{2}.*? +([\d.]+) % \+- ", text, re.MULTILINE)]
    reached = sum(share >= 1 - WITHIN for share in shares)
    print(f"beside busy programs: {reached} of {len(shares)} winners within {100 * WITHIN:.0f} %, lowest {100 * min(shares):.1f} %")


if __name__ == "__main__":
    main()
