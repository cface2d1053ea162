#!/usr/bin/env python3
"""Runs every `rooftile ...` command line that README.md and docs/types.md quote, and those in the blocks of docs/*.md.

Commands that read run on a database of this machine and must succeed, or say that the database has no tuned kernel for what
they ask, or that scripts/build-web has not run. `rooftile tune` and `rooftile calibrate` run on a database that cannot be opened: all of their
arguments are read, and nothing is measured.
    readme_commands_test.py SOURCE_DIR BINARY_DIR
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

source, binary = map(pathlib.Path, sys.argv[1:])


def command_lines(markdown, options_of="rooftile tune"):
    """Lines of fenced blocks and inline code. Inline options without a command count if a command has them."""
    blocks = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    lines = [line for language, block in blocks.findall(markdown) if not language for line in block.splitlines()]
    inline = re.findall(r"`([^`\n]+)`", blocks.sub("", markdown))
    lines += [f"{options_of} {code}" if code.startswith("--") and options_of else code for code in inline]
    return list(dict.fromkeys(line for line in lines if re.match(r"rooftile +[a-z]", line)))


def block_lines(markdown):
    """Lines of fenced blocks without comments and without "...", which stands for more files."""
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```$", markdown, re.MULTILINE | re.DOTALL)
    lines = [re.sub(r" +#.*| \.\.\.", "", line).strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("rooftile ")]


def save_zeros(path, rows, columns):
    """Writes a float32 matrix in the format of numpy.save."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}".ljust(117) + "\n"
    pathlib.Path(path).write_bytes(b"\x93NUMPY\x01\x00v\x00" + text.encode() + bytes(4 * rows * columns))


def make_database(environment):
    """Starts tuning and interrupts it as soon as the database exists."""
    tune = subprocess.Popen(["rooftile", "tune", "--m", "8", "--n", "9", "--k", "10"], env=environment,
                            stdout=subprocess.DEVNULL)
    for _ in range(600):
        ready = subprocess.run(["rooftile", "query", "SELECT * FROM devices"], env=environment, capture_output=True)
        if ready.returncode == 0 and ready.stdout.count(b"\n") > 1:
            break
        time.sleep(0.05)
    tune.send_signal(signal.SIGINT)
    assert tune.wait() == 130, f"rooftile tune ended with {tune.returncode} after Ctrl-C"


def serve_until_ready(line, environment):
    """Runs a command that serves until Ctrl-C, and interrupts it as soon as it says where."""
    serving = subprocess.Popen(line.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if "http://" in serving.stdout.readline():
        serving.send_signal(signal.SIGINT)
    out, err = serving.communicate(timeout=60)
    return subprocess.CompletedProcess(line, serving.returncode, out, err)


def main():
    lines = command_lines((source / "README.md").read_text())
    lines += [line for line in command_lines((source / "docs" / "types.md").read_text(), None) if line not in lines]
    for document in sorted((source / "docs").glob("*.md")):
        lines += [line for line in block_lines(document.read_text()) if line not in lines]
    # Writing commands come first, because others read their output.
    lines.sort(key=lambda line: not re.match(r"rooftile (db export |quantize)", line))
    for command in ("tune", "report", "explain", "query"):
        assert any(re.match(rf"rooftile {command}\b", line) for line in lines), f"README.md quotes no rooftile {command}"
    wrong = []
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        pathlib.Path("FILE.csv").write_text("m,n,k,trans_a,trans_b,batch,note\n8,9,10,0,0,1,small\n")
        pathlib.Path("tuned_elsewhere.json").write_text(
            '{"results": [{"configuration": {"family": "naive"}, "times": {"runtimes": [1.5]}, "invalidity": "correct", '
            '"correctness": 1}], "schema_version": "1.0.0"}')
        save_zeros("W.npy", 64, 8)
        save_zeros("X.npy", 2, 64)
        save_zeros("A.npy", 3, 5)
        save_zeros("B.npy", 5, 2)
        environment = dict(os.environ, HOME=scratch, PATH=f"{binary}:{os.environ['PATH']}",
                           ROOFTILE_DB=f"{scratch}/rooftile.db")
        make_database(environment)
        shutil.copy("rooftile.db", "other.db")
        for gpu in ("navi31", "ampere", "battlemage"):  # docs/inspect.md puts them on a page
            subprocess.run(["rooftile", "inspect", "--family", "naive", "--json", "-o", f"{gpu}.json"], env=environment, check=True)
        for line in lines:
            print(line)
            measures = line.startswith(("rooftile tune", "rooftile calibrate"))
            if "--serve" in line:
                run = serve_until_ready(line, environment)
            else:
                run = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60,
                                     env=dict(environment, ROOFTILE_DB="/dev/null/none.db") if measures else environment)
            not_there = re.search("is not tuned in|has no measurements of|has no samples|run scripts/build-web|no tuned kernels to embed|no device in these databases", run.stderr)
            good = run.returncode == 1 and "/dev/null" in run.stderr if measures else run.returncode == (1 if not_there else 0)
            if not good:
                wrong.append(f"{line}\n  exit code {run.returncode}: {run.stderr.strip()}")
    sys.exit("\n".join(wrong) or 0)


main()
