"""Runs every bench once on small problems: each contestant takes part, and none is skipped for a reason other than a
limit. No time is judged."""
import contextlib
import csv
import glob
import lzma
import os
import pathlib
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import time

import pytest

PROGRAM = pathlib.Path(os.environ["ROOFTILE_BENCH"])
BUILD = PROGRAM.parents[1]
BENCH_SOURCES = pathlib.Path(__file__).parents[2] / "bench"
BENCHES = sorted(file.stem for file in BENCH_SOURCES.glob("*.cpp") if file.stem != "main")
REPLAY = BENCH_SOURCES / "replay"
TILES = "family=register tile_m=8 tile_n=16 reg_m=4 reg_n=4 unroll_k=4 vector_width_a=4 vector_width_b=4"


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    """Two databases of this machine's first device, with kernels for float32, float16 and int8."""
    folder = tmp_path_factory.mktemp("databases")
    for name in ("one.db", "two.db"):
        subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], folder / name, "even", "f16", "i8"], check=True)
    return folder


def start(folder, bench, *arguments, **environment):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROOFTILE_", "XDG_"))}
    return subprocess.run([PROGRAM, bench, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=150,
                          env=dict(inherited, HOME=str(folder), **environment))


def run(folder, bench, *arguments, **environment):
    """What the bench prints on stdout. Messages of kernels that fail are errors."""
    done = start(folder, bench, *arguments, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " fails on " not in done.stderr, done.stderr
    return done.stdout


def contestants(text, problem):
    """Name and median of every line of `gemm` about the problem; None where it was skipped."""
    found = {}
    for line in text.splitlines():
        if match := re.match(re.escape(problem) + r" +(\w+) +(?:([\d.]+) |skipped: (.*))", line):
            assert match[3] is None or "limit" in match[3], line
            found[match[1]] = None if match[2] is None else float(match[2])
    return found


@pytest.fixture(scope="module")
def brought(databases, tmp_path_factory):
    """A folder as scripts/gpu-run leaves it, and what each bench printed."""
    folder = tmp_path_factory.mktemp("brought")
    shutil.copy(databases / "one.db", folder / "export.db")
    texts = {
        "gemm": run(databases, "gemm", "--db", "one.db", "--m", 33, "--n", 17, "--k", 65, "--seconds", 0.05, "--against", "f16,i8",
                    "--csv", folder / "gemm-default.csv"),
        "dispatch": run(databases, "dispatch", "--db", "one.db", "--problems", 2, "--rounds", 2, "--largest", 64, "--csv",
                        folder / "dispatch.csv"),
        "weights": run(databases, "weights", "--n", 64, "--k", 256, "--types", "f32xq4_k,f32xq8_0", "--priors", 1, "--rounds", 2,
                       "--csv", folder / "decode.csv", "--kernel",
                       "f32xq8_0:family=vector tile_m=1 tile_n=8 tile_k=32 reg_m=1 reg_n=2 unroll_k=32 vector_width_a=4"),
        "kernels": run(databases, "kernels", "--m", 33, "--n", 17, "--k", 65, "--kernel", TILES, "--priors", 2, "--seconds", 0.05,
                       "--csv", folder / "experiments-first.csv"),
        "transfer": run(databases, "transfer", "--db", "one.db", "--rounds", 2, "--m", 65, "--n", 33, "--k", 170, "--csv",
                        folder / "transfer.csv"),
        "errors": run(databases, "errors", "--k", "33,256", "--csv", folder / "errors.csv")}
    return folder, texts


WHOLE_CALLS = ["openblas", "openblas1", "auto", "tuned", "default", "naive"]
KERNELS = ["tuned_kernel", "default_kernel", "naive_kernel"]


def test_every_contestant_of_gemm_runs(brought):
    folder, texts = brought
    expect_every_contestant(texts["gemm"], folder / "gemm-default.csv")


@pytest.mark.parametrize("trans", ["--trans-b", "--trans-a"])
def test_every_contestant_of_transposed_gemm_runs(databases, tmp_path, trans):
    expect_every_contestant(run(databases, "gemm", "--db", "one.db", "--m", 33, "--n", 17, "--k", 65, "--seconds", 0.05, "--against",
                                "f16,i8", "--csv", tmp_path / "times.csv", trans), tmp_path / "times.csv")


def expect_every_contestant(text, table):
    problem = re.search(r"^33x17x65 \w\w", text, re.MULTILINE)[0]
    found = contestants(text, problem)
    assert set(found) == {*WHOLE_CALLS, *KERNELS, "tuned_kernel_f16", "tuned_kernel_i8"}
    assert all(median is not None and median > 0 for median in found.values()), found
    written = [line.split(",")[9] for line in table.read_text().splitlines()[1:]]
    assert sorted(written) == sorted(found)


def test_gemm_runs_other_types_and_epilogues(databases):
    text = run(databases, "gemm", "--db", "one.db", "--m", 33, "--n", 17, "--k", 65, "--seconds", 0.05, "--type", "f16")
    found = contestants(text, "33x17x65 nn f16")
    assert {*WHOLE_CALLS, *KERNELS} == set(found)
    assert None not in found.values(), found


def test_gemm_times_given_kernels_beside_a_baseline(databases, tmp_path):
    """The illegal one says why and has no part in the table; cuBLAS is a fake that computes on the host."""
    fakes = BUILD / "tests" / "fakes"
    text = run(databases, "gemm", "--db", "one.db", "--m", 33, "--n", 17, "--k", 65, "--trans-b", "--seconds", 0.05,
               "--kernel", TILES, "--kernel", TILES + " tile_m=4096", "--kernel", TILES.replace("unroll_k=4", "unroll_k=8"),
               "--baseline", "cublas", "--baseline-library", fakes / "libcublas.so.12", "--csv", tmp_path / "times.csv",
               LD_LIBRARY_PATH=str(fakes))
    problem = "33x17x65 nt"
    assert re.search(rf"^{problem} +kernel_2 +skipped: is illegal here: ", text, re.MULTILINE), text
    for kernel in ("kernel_1", "kernel_3"):
        assert re.search(rf"^{problem} +{kernel} +[\d.]+ .* register 8x16 ", text, re.MULTILINE), text
        assert re.search(rf"^{problem} +{kernel} over cublas: [\d.]+x", text, re.MULTILINE), text
        assert f"speed of {kernel} over cublas: " in text, text
    with open(tmp_path / "times.csv", newline="") as file:
        found = {row["contestant"]: float(row["median_ns"]) for row in csv.DictReader(file)}
    assert {*WHOLE_CALLS, *KERNELS, "kernel_1", "kernel_3", "cublas"} == set(found) and min(found.values()) > 0, found


def test_a_header_chooses_as_the_runtime_does(databases):
    text = run(databases, "embed", "one.db", "--problems", 50)
    assert re.findall(r"^(f32\.\w\w) .* ns, same kernel 100\.0 %", text, re.MULTILINE) == ["f32.nn", "f32.nt", "f32.tn", "f32.tt"], text


def test_gemm_refuses_a_kernel_with_an_unknown_parameter(databases):
    done = start(databases, "gemm", "--db", "one.db", "--m", 3, "--n", 5, "--k", 7, "--kernel", TILES + " tile_q=4")
    assert done.returncode == 1 and "tile_q" in done.stderr and not done.stdout, done
    done = start(databases, "gemm", "--db", "one.db", "--m", 3, "--n", 5, "--k", 7, "--kernel", "")
    assert done.returncode == 1 and "names no family" in done.stderr and not done.stdout, done


def test_the_help_lists_every_bench_with_its_question(tmp_path):
    for option in ("--help", "-h"):
        done = start(tmp_path, option)
        assert done.returncode == 0 and re.findall(r"^  (\w+) +[A-Z].*\?$", done.stdout, re.MULTILINE) == BENCHES, done


@pytest.mark.parametrize("words", [[], ["no-such-bench"], ["no-such-bench", "--help"], [""], ["gem"]])
def test_an_unknown_bench_is_refused_with_the_names_of_all(tmp_path, words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    assert done.returncode == 2 and re.findall(r"^  (\w+) ", done.stderr, re.MULTILINE) == BENCHES and not done.stdout, done


@pytest.mark.parametrize("bench", BENCHES)
def test_wrong_options_are_another_exit_code_than_errors(tmp_path, bench):
    done = start(tmp_path, bench, "--no-such-option")
    assert done.returncode == 2 and "--help" in done.stderr and not done.stdout, done
    done = start(tmp_path, bench, "--help")
    assert done.returncode == 0 and (bench == "model" or f"?\nUsage: rooftile-bench {bench} [OPTIONS]" in done.stdout), done


def test_a_library_that_is_missing_keeps_no_other_bench_from_running(tmp_path):
    program = shutil.copy(PROGRAM, tmp_path)
    for bench, library in ("overhead", "librooftile.so.0"), ("dropin", "librooftile_blas.so.0"):
        (tmp_path / library).write_text("no library")  # It is found before one that is installed.
        done = subprocess.run([program, bench], capture_output=True, text=True)
        assert done.returncode == 1 and f"{library}: " in done.stderr, done
    subprocess.run([program, "regret", "--help"], check=True, stdout=subprocess.DEVNULL)


def test_options_that_contradict_each_other_are_wrong(tmp_path):
    done = start(tmp_path, "gemm", "--baseline", "cublas,clblast", "--baseline-library", "/bin/sh")
    assert done.returncode == 2 and "name one --baseline" in done.stderr, done
    done = start(tmp_path, "dispatch", "--smallest", 9, "--largest", 8)
    assert done.returncode == 2 and "9 is above --largest 8" in done.stderr, done


@pytest.mark.parametrize("bench", ["gemm", "kernels", "budget", "decoding", "weights"])
def test_benches_take_the_device_that_the_environment_names(databases, bench):
    arguments = {"gemm": ["--db", "one.db", "--m", 3, "--n", 5, "--k", 7],
                 "kernels": ["--m", 3, "--n", 5, "--k", 7, "--priors", 2], "budget": ["one.db", "two.db"]}
    done = start(databases, bench, *arguments.get(bench, []), ROOFTILE_DEVICE="no such device")
    assert done.returncode == 1 and "no Vulkan device matches 'no such device'" in done.stderr, done


def test_a_contestant_beyond_the_limit_is_skipped_and_says_so(databases):
    text = run(databases, "gemm", "--db", "one.db", "--m", 333, "--n", 170, "--k", 650, "--seconds", 0.05, "--limit", 1e-6)
    found = contestants(text, "333x170x650 nn")
    assert found["naive_kernel"] is None and found["naive"] is None
    assert found["default_kernel"] is None and found["default"] is None


def test_every_tier_of_dispatch_runs(brought):
    text = brought[1]["dispatch"]
    for tier in ("host", "host1", "device"):
        assert re.search(rf"\b{tier}\b", text), text


def test_every_part_of_transfer_runs(brought):
    folder, texts = brought
    text = texts["transfer"]
    with open(folder / "transfer.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["part"] for row in rows} == {"dispatches", "copies", "calls", "threads"}
    for row in rows:
        assert not row["failure"] and float(row["wall_low_ns"]) <= float(row["wall_ns"]) <= float(row["wall_high_ns"]), row
    calls = [row for row in rows if row["part"] == "calls"]
    assert [row["what"] for row in calls] == [f"65x33x170 nn {path}" for path in ("staged", "imported", "host", "auto")]
    assert [row["what"] for row in rows if row["part"] == "threads"] == [f"65x33x170 nn staged by {n} at once" for n in (1, 2, 4, 8)]
    for row in calls:
        if row["what"].endswith(("staged", "imported")):
            assert re.match(r"submit .* in .*, kernel .*, out ", row["detail"]) and float(row["predicted_ns"]) > 0, row
    assert re.search(r"^calls on the device over the sum of their predicted parts: geometric mean [\d.]+,", text, re.MULTILINE), text


def test_transfer_ends_when_its_time_is_over(databases, tmp_path):
    text = run(databases, "transfer", "--db", "one.db", "--rounds", 1, "--parts", "calls", "--seconds", 1e-9)
    assert len(re.findall(r"^calls      64x64x64 nn (?:staged|imported|host|auto) +262144  [\d.]+ ", text, re.MULTILINE)) == 4, text
    assert text.count("left out: --seconds are over") == 10, text


def test_transfer_needs_a_database_for_calls_only(tmp_path):
    text = run(tmp_path, "transfer", "--rounds", 1, "--parts", "dispatches,copies")
    assert "dispatches with barriers" in text and "copies     staged in" in text and "predicted " not in text.partition("\n")[2]
    done = start(tmp_path, "transfer", "--parts", "calls", "--rounds", 1)
    assert done.returncode == 1 and "run `rooftile tune`" in done.stderr, done


def test_every_kind_of_call_of_packed_runs(databases):
    text = run(databases, "packed", "--db", "one.db", "--rounds", 1, "--rows", 3, "--n", 40, "--k", 50)
    for problem in ("3x40x50 nn", "3x40x50 nt"):
        for kind in ("kernel alone", "packed", "packed, in flight", "unpacked"):
            assert re.search(rf"^{problem} +{kind} +[\d.]+ [mun]?s", text, re.MULTILINE), text


def test_every_contestant_of_split_runs(databases, tmp_path):
    text = run(databases, "split", "--db", "one.db", "--rounds", 2, "--sizes", "330x90x70", "--together", "--csv",
               tmp_path / "times.csv")
    names = {"host", "host1", "auto", "split", "together"}
    found = set(re.findall(r"^330x90x70 nn +(.+?) +[\d.]+ ms ", text, re.MULTILINE))
    assert names < found and len(found) == len(names) + 1, "one device"
    assert re.search(r" split +.*\(.+\)$", text, re.MULTILINE), "the reason"
    assert {line.split(",")[1] for line in (tmp_path / "times.csv").read_text().splitlines()[1:]} == found


def test_every_contender_of_grouped_runs(databases):
    text = run(databases, "grouped", "--db", "one.db", "--rounds", 1, "--tokens", 5, "--used", 2, "--experts", 3,
               "--k", 20, "--n", 24)
    assert "10x24x20 nn in 3 groups of 3 experts" in text, text
    for contender in ("packed", "packed, device's sizes", "as stored", "stored, device's sizes", "dense", "loop, waited",
                      "loop", "host grouped", "host dense", "host loop"):
        assert re.search(rf"^{contender} +[\d.]+ ms", text, re.MULTILINE), text


@pytest.mark.parametrize("bench, options", [
    ("gemm", ["--db", "one.db", "--seconds", 0.05, "--shapes", "many.csv"]),
    ("kernels", ["many.questions.csv", "--seconds", 0.05]),
    ("weights", ["--n", 64, "--k", 256, "--types", "f32xq4_k", "--priors", 1, "--rounds", 1000000]),
    ("dispatch", ["--db", "one.db", "--problems", 100000, "--rounds", 2, "--largest", 64])])
def test_a_bench_that_is_ended_has_written_what_it_knows(databases, tmp_path, bench, options):
    """scripts/gpu-run ends programs at their limits."""
    (databases / "many.csv").write_text("m,n,k,trans_a,trans_b,batch,note\n" + "33,17,65,0,1,1,\n" * 1000)
    (databases / "many.questions.csv").write_text(
        "experiment,m,n,k,trans_a,trans_b,batch,type,baseline,variant,expected,seconds,hypothesis\n"
        + f"steps,33,17,65,0,1,1,f32,{TILES},unroll_k=8,1,0.1,Longer steps.\n" * 1000)
    table = tmp_path / "table.csv"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROOFTILE_", "XDG_"))}
    process = subprocess.Popen([PROGRAM, bench, *map(str, options), "--csv", table], cwd=databases, stdout=subprocess.DEVNULL,
                               env=dict(inherited, HOME=str(tmp_path)))
    try:
        end = time.monotonic() + 30
        while not (table.exists() and table.read_text().count("\n") >= 2):
            assert process.poll() is None and time.monotonic() < end, "nothing was written before the end"
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()


def test_weights_compares_every_format(brought):
    folder, texts = brought
    text = texts["weights"]
    rows = [line.split(",") for line in (folder / "decode.csv").read_text().splitlines()[1:]]
    assert [row[0] for row in rows] == ["f32", "f32xq4_k", "f32xq8_0", "f32xq8_0"], text
    assert all(float(row[6]) > 0 and float(row[9]) > 0 for row in rows), text


@pytest.mark.parametrize("jobs", [0, 2])
def test_kernels_answers_what_it_can(tmp_path, jobs):
    (tmp_path / "some.csv").write_text(
        "experiment,m,n,k,trans_a,trans_b,batch,type,baseline,variant,expected,seconds,hypothesis\n"
        f"illegal,33,17,65,0,1,1,f32,{TILES},tile_m=4096,0.5,0.1,A tile that no device has.\n"
        f"steps,33,17,65,0,1,1,f32,{TILES},unroll_k=8,1,0.1,\"Longer steps\", or not.\n,17,33,65,1,0,2,,,unroll_k=8,,,\n")
    text = run(tmp_path, "kernels", "some.csv", "--csv", "answers.csv", "--jobs", jobs)
    assert '"Longer steps", or not.' in text
    with open(tmp_path / "answers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["experiment"], row["problem"]) for row in rows] == [
        ("illegal", "33x17x65 nt"), ("steps", "33x17x65 nt"), ("steps", "17x33x65 tn batch 2")], text
    assert "is illegal here" in rows[0]["failure"] and not rows[0]["ratio"]
    for row in rows[1:]:
        assert float(row["ratio_low"]) <= float(row["ratio"]) <= float(row["ratio_high"]) and int(row["rounds"]) >= 6
        assert float(row["baseline_ns"]) > 0 < float(row["variant_ns"]) and not row["failure"]
        assert row["verdict"] in ("faster", "slower", "equal")


RADV = sorted(glob.glob("/usr/share/vulkan/icd.d/radeon_icd*.json"))[:1]  # It compiles without its hardware.


def test_kernels_keeps_what_the_driver_makes_of_each_kernel(tmp_path):
    head = "experiment,m,n,k,trans_a,trans_b,batch,type,baseline,variant,expected,seconds,hypothesis\n"
    one = f"steps,33,17,65,0,1,1,f32,{TILES},unroll_k=8,1,0.1,Longer steps.\n"
    (tmp_path / "some.csv").write_text(head + one + ",17,33,65,0,1,1,,,unroll_k=16,,,\n,9,9,9,0,0,1,,,tile_m=4096,,,\n")
    (tmp_path / "other.csv").write_text(head + one.replace(TILES, TILES.replace("unroll_k=4", "unroll_k=16")))
    driver = {"RADV_FORCE_FAMILY": "navi21", "VK_DRIVER_FILES": RADV[0], "VK_ICD_FILENAMES": RADV[0]}
    kept = {}
    for name, jobs in ("some", 2), ("other", 1):
        run(tmp_path, "kernels", f"{name}.csv", "--keep", name, "--jobs", jobs, **driver)
        with open(tmp_path / name / "kernels.csv", newline="") as file:
            kept[name] = list(csv.DictReader(file))
    rows = kept["some"]
    assert sorted((row["problem"], bool(row["hash"])) for row in rows) == sorted(
        [("33x17x65 nt", True)] * 2 + [("17x33x65 nt", True)] * 2 + [("9x9x9 nn", True), ("9x9x9 nn", False)])
    hashes = {row["hash"] for row in rows if row["hash"]}
    assert len(hashes) == 4 == sum(bool(row["cache_bytes"]) for row in rows), "a kernel is compiled once for a signature"
    assert all("is illegal here" in row["note"] for row in rows if not row["hash"])
    for hash in hashes:
        text = (tmp_path / "some" / f"{hash}.txt").read_text()
        assert re.search(r"^VGPRs: \d+$", text, re.MULTILINE) and "\n--- Assembly\n" in text and "s_endpgm" in text, text[:999]
        header = struct.unpack("<4I", (tmp_path / "some" / f"{hash}.cache").read_bytes()[:16])
        assert header[:3] == (32, 1, 0x1002), "the header of a pipeline cache of AMD"
    both = hashes & {row["hash"] for row in kept["other"]}
    assert len(both) == 2
    for hash in both:  # In another order, and beside others.
        sizes = {(tmp_path / name / f"{hash}.cache").stat().st_size for name in kept}
        assert len(sizes) == 1 and sizes != {32}, "the cache holds this kernel alone"


def test_kernels_keeps_its_questions(tmp_path):
    text = f"experiment,m,n,k,trans_a,trans_b,batch,type,baseline,variant,expected,seconds,hypothesis\na,8,8,8,0,0,1,f32,{TILES},unroll_k=8,1,1,b\n"
    (tmp_path / "some.csv").write_text(text)
    done = start(tmp_path, "kernels", "some.csv", "--csv", "./some.csv")
    assert done.returncode == 1 and "holds the questions" in done.stderr and (tmp_path / "some.csv").read_text() == text


def test_kernels_compares_the_first_choices_of_a_problem(brought):
    text = brought[1]["kernels"]
    assert len(re.findall(r"^kernel \d: 33x17x65 nn\n  register 8x16 .* -> .*\n  [\d.]+ -> [\d.]+ us", text, re.MULTILINE)) == 2, text


def test_the_experiments_are_legal_on_an_h100(tmp_path):
    with lzma.open(BENCH_SOURCES / "results" / "nvidia-h100.db.xz") as packed:
        (tmp_path / "h100.db").write_bytes(packed.read())
    # It was written by a version that did not ask devices for float64, which all of NVIDIA's have.
    with contextlib.closing(sqlite3.connect(tmp_path / "h100.db")) as database, database:
        database.execute("UPDATE devices SET limits = json_set(limits, '$.float64_arithmetic', json('true'))")
    files = sorted((BENCH_SOURCES / "experiments").glob("*.csv"))
    for file in files:
        text = run(tmp_path, "kernels", "--check", "h100.db", file)
        found = re.fullmatch(r"NVIDIA H100 80GB HBM3: (\d+) of (\d+) are legal\n", text)
        assert found and found[1] == found[2] != "0", (file, text)


def test_every_table_is_known_when_it_is_brought_from_a_gpu(brought, tmp_path):
    """scripts/gpu-take knows tables by their columns."""
    into = tmp_path / "repository"
    for folder in ("results", "notes", "experiments"):
        (into / "bench" / folder).mkdir(parents=True)
    (into / "bench" / "notes" / "README.md").write_text("| note | subject |\n")
    shutil.copytree(BENCH_SOURCES.parent / "tests/model/data", into / "tests/model/data")
    done = subprocess.run([sys.executable, BENCH_SOURCES.parent / "scripts" / "gpu-take", "--into", into, brought[0]], capture_output=True, text=True)
    assert done.returncode == 0 and "missing: a " not in done.stdout, done
    page, = (into / "bench" / "results").glob("*.md")
    for title in ("Rates", "Sets default and types", "Decoding", "Choice of tiers", "Floor", "Experiments", "Database"):
        assert f"\n## {title}\n" in page.read_text(), title


def test_budget_compares_every_problem_of_both(databases):
    text = run(databases, "budget", "one.db", "two.db", "--seconds", 0.01)
    assert re.search(r"^64x64x64 nn +[\d.]+ %", text, re.MULTILINE), text
    assert re.search(r"geometric mean [\d.]+ %, lowest [\d.]+ % \(12 problems\)", text), text


def script(file, text):
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o700)
    return file


def test_bench_load_compares_a_run_beside_a_busy_program(tmp_path):
    """With scripts in place of both programs: a run that is long enough for a winner would calibrate twice."""
    tune = script(tmp_path / "rooftile", """echo "$*" >"$ROOFTILE_DB"; ps --ppid $PPID -o args= | grep -c 'while True' >>"$ROOFTILE_DB"
echo '1 of 1 problems in 2 s'; exit 1""")
    compare = script(tmp_path / "compare", """cat "$3" "$2"
echo '64x64x64 nn                80.0 % +-  1.0  one other'
echo '512x64x32 nt batch 3       91.0 % +-  1.0  one the same'""")
    text = subprocess.run([sys.executable, REPLAY.parent / "bench_load.py", "--program", tune, "--compare", compare, "--budget", "2s",
                           "--", "--m", "64"], check=True, capture_output=True, text=True, timeout=60).stdout
    assert "tune --budget 2s --m 64\n0\ntune --budget 2s --m 64\n1\n" in text, "alone, then beside one program"
    assert text.endswith("beside busy programs: 1 of 2 winners within 10 %, lowest 80.0 %\n"), text


def test_limiter_measures_every_change(databases, tmp_path):
    tiled = ("family=tiled tile_m=32 tile_n=32 tile_k=16 reg_m=4 reg_n=4 unroll_k=8 stage=shared vector_width_a=4 "
             "vector_width_b=4 split_k=2")
    broadcast = ("family=broadcast tile_m=16 tile_n=32 reg_m=16 reg_n=4 unroll_k=4 vector_width_a=4 vector_width_b=4 "
                 "load_path_a=texel load_path_b=texel stage=subgroup packed_a=yes packed_b=yes subgroup_size=8")
    texts = [run(tmp_path, "limiter", "--kernel", kernel, "--m", 33, "--n", 41, "--k", 70, "--rounds", 2, "--csv",
                 "limiter.csv", "--calibration", databases / "one.db") for kernel in (tiled, broadcast)]
    # Without --calibration it does what `rooftile calibrate` does, for five seconds.
    texts.append(run(tmp_path, "limiter", "--kernels", 2, "--first", 1, "--rounds", 1, "--calibration", databases / "one.db"))
    for text in texts:
        assert re.search(r"^\d of \d right by the limiter, of which \d within", text, re.MULTILINE), text
    always = {"arithmetic", "loads", "lines", "stores", "launches", "idle"}
    with open(tmp_path / "limiter.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    measured = [{name.removesuffix("_error") for name, value in row.items() if name.endswith("_error") and value} for row in rows]
    assert measured == [always | {"shared", "barriers", "sums"}, always | {"broadcasts"}], texts
    assert all(row["limiter"] and float(row["loads_cost_ns"]) > 0 for row in rows), rows


def test_precision_runs_both_tiers(databases):
    text = run(databases, "precision", "--rounds", 1, "--largest", 512)
    for tier in ("host", "host1"):
        assert len(re.findall(rf" {tier} +[\d.]+ [mun]?s +[\d.]+ [mun]?s", text)) == 6, text
    text = run(databases, "precision", "--rounds", 1, "--db", "one.db", "--largest", 128)
    assert re.search(r"^128x128x128 nn +host( +[\d.]+ [mun]?s){2} +[\d.]+ +\(.*?\) +[\d.]+ [mun]?s", text, re.MULTILINE), text


def test_every_way_of_errors_runs(brought):
    folder, texts = brought
    text = texts["errors"]
    with open(folder / "errors.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    # Lavapipe has no matrix units that multiply bfloat16.
    assert [(row["k"], row["way"]) for row in rows] == [(k, way) for k in ("33", "256") for way in ("BLAS", "float32")], text
    assert all(0 < float(row["error"]) < float(row["bound"]) for row in rows), rows
    assert len(re.findall(r"^ +(?:33|256)(?: +[\d.]+){2}(?: +-){2} +\d+ +\d+$", text, re.MULTILINE)) == 2, text


def test_dropin_compares_the_drop_in(databases):
    text = run(databases, "dropin", "--db", "one.db", "--problems", 2, "--type", "f64")
    assert re.search(r"2 random problems: BLAS .* drop-in ", text), text


def test_overhead_gets_a_first_result(databases):
    assert re.fullmatch(r"[\d.]+ [\d.]+\n", run(databases, "overhead", "--db", "one.db", "--first-result"))


def test_overhead_adds_to_a_list(databases):
    text = run(databases, "overhead", "--db", "one.db", "--list")
    assert re.fullmatch(r"adding 64x64x64 to a list: [\d.]+ us \(mad [\d.]+, 41 lists of 200\)\n", text)


def test_fleet_merges_and_asks(databases, tmp_path):
    text = run(databases, "fleet", tmp_path / "fleet", "--files", 2, "--samples", 20)
    for step in ("db merge", "report", "db stats", "db export", "transfer query"):
        assert re.search(rf"^{step} ", text, re.MULTILINE), text


def test_roofline_checks_host_and_model(databases):
    text = run(databases, "roofline", "host", "--rounds", 1)
    for figure in ("host.bandwidth.threads", "host.fma.threads", "host.bandwidth.single", "host.fma.single"):
        assert re.search(rf"^{re.escape(figure)} +[\d.]+ +[\d.]+ +[\d.]+", text, re.MULTILINE), text
    assert re.search(r"^batch-22 +32x32x32 nn batch 256 +\d+", run(databases, "roofline", "model", REPLAY / "batch-22.csv"),
                     re.MULTILINE)


def test_every_strategy_of_search_runs(databases):
    text = run(databases, "search", REPLAY / "batch-22.csv", REPLAY / "edges-22.csv", REPLAY / "edges-26.csv", "--seeds", 1,
               "--candidates", 8)
    arms = ["exhaustive", "random", "model", "transfer", "auto", "auto, other problems known",
            "auto, other devices known", "auto, both known", "auto, no priors", "auto, no priors, other devices known"]
    for arm in arms:
        assert re.search(rf"^  {arm} +4: ", text, re.MULTILINE), (arm, text)


def test_tuning_finds_kernels_on_a_simulated_gpu(tmp_path):
    gpu = tmp_path / "h200.db"
    gpu.write_bytes(lzma.decompress((REPLAY.parent / "results" / "nvidia-h200.db.xz").read_bytes()))
    text = run(tmp_path, "tuning", gpu, "--set", "squares", "--budget", 4, "--processors", 4, "--keep", "tuned.db")
    assert re.match(r"4 s: \d+ candidates, [\d.]+ a second, at least [1-9]\d* a problem\n  (\d+) of \1 problems have a kernel: "
                    r"[\d.]+ % of the fastest, [\d.]+ % at least\n  [\d.]+ s: .* waiting for compilers", text), text
    assert (tmp_path / "tuned.db").stat().st_size > 0


def test_regret_compares_claims_with_held_out_problems(databases):
    results = REPLAY.parent / "results"
    text = run(databases, "regret", results / "lavapipe-untuned.csv", results / "lavapipe-untuned-kernels.csv", "--rates",
               results / "lavapipe-untuned-rates.csv", "--splits", 1)
    for of_class in ("f32.nn", "f32.nt"):
        for known in ("  6", " 10", " 16", " 24", " 36"):
            assert re.search(rf"^{of_class} +{known} known: mean +-?[\d.]+ % claimed, +[\d.]+ % measured;", text, re.MULTILINE), text
        for held in ("largest", "smallest"):
            assert f"{of_class}, held: {held}" in text, text


def test_forecast_scores_every_forecast(tmp_path):
    results = REPLAY.parent / "results"
    for name, slower in ("quick.csv", 1), ("slow.csv", 5):  # The device of the second takes five times as long as predicted.
        (tmp_path / name).write_text("\n".join(
            ["header"] + [f"1,1,1,n,n,{slower * (100 + i)},90,{110 - i},{101 + i % 3},90,{108 - i % 2}" for i in range(20)]))
    text = run(tmp_path, "forecast", "--times", results / "lavapipe-untuned.csv", "--kernels",
               results / "lavapipe-untuned-kernels.csv", "--rates", results / "lavapipe-untuned-rates.csv", "--splits", 1, "--known", 8,
               "--spaces", REPLAY / "square-22.csv", REPLAY / "deep-22.csv", "--seeds", 1, "--dispatch", "quick.csv", "slow.csv", "--csv", "curves.csv")
    rows = [line.split(",") for line in (tmp_path / "curves.csv").read_text().splitlines()[1:]]
    intervals = ["gain of twice the candidates", "regret of an untuned problem", "time of a call on the device",
                 "time of a call on the host", "time of a call's kernel"]
    for forecast in intervals:
        assert [row[1] for row in rows if row[0] == forecast] == ["0.5", "0.6", "0.7", "0.8", "0.9", "0.95"], text
        assert re.search(rf"^{forecast} +\d+( +[\d.]+ %){{6}}$", text, re.MULTILINE), text
    assert sum(int(row[4]) for row in rows if row[0].startswith("the device is faster")) == 40, text
    held = {row[0]: row[2] for row in rows if row[1] == "0.5"}
    assert held["time of a call on the device"] == "0.0000" < held["time of a call on the host"], text  # Neither run foretells the other.


def test_every_case_of_model_runs(databases):
    listed = run(databases, "model", "--benchmark_list_tests").split()
    text = run(databases, "model", "--benchmark_min_time=0.001")
    for case in listed:
        assert re.search(rf"^{re.escape(case)} +[\d.e+]+ [mun]?s", text, re.MULTILINE), (case, text)
    assert "ERROR" not in text


def test_decoding_leaves_parts_out_of_kernels_of_every_kind(tmp_path):
    text = run(tmp_path, "decoding", "--n", 64, "--k", 2048, "--rounds", 1, "--types", "f32xq8_0,f32xq4_k,f32xq6_k,f32xmxfp4")
    for kind in ("q8_0", "q4_k", "q6_k", "mxfp4"):
        assert len(re.findall(rf"^f32x{kind} .* us .* of float32", text, re.MULTILINE)) == 5, text


@pytest.mark.skipif("ROOFTILE_GGML" not in os.environ, reason="ROOFTILE_GGML does not name libggml-vulkan.so")
@pytest.mark.parametrize("options", [[], ["--tokens", 1, "--past", 70], ["--moe", 16, "--top-k", 3], ["--moe", 8, "--weights-of-all", 1]])
def test_the_block_as_a_graph_of_ggml_is_that_of_numpy(tmp_path, options):
    example = BUILD / "examples" / "example_transformer_block"
    subprocess.run([example, "--write", tmp_path, *map(str, options)], check=True,
                   env=dict(os.environ, ROOFTILE_DB=str(tmp_path / "none.db")))
    command = [sys.executable, BENCH_SOURCES / "ggml_block.py", os.environ["ROOFTILE_GGML"], tmp_path]
    environment = dict(os.environ, GGML_VK_VISIBLE_DEVICES="0")
    subprocess.run(command, env=environment, check=True)
