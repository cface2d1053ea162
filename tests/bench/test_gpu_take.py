"""scripts/gpu-take: an archive of scripts/gpu-run becomes pages, tables and answers; one that is not whole changes nothing. The archive
is made of what the repository holds of an H100, and of answers to a queue of its own."""
import csv
import functools
import gzip
import io
import json
import lzma
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile

import pytest

SOURCES = pathlib.Path(__file__).parents[2]
RESULTS = SOURCES / "bench" / "results"
HEADER = "experiment,m,n,k,trans_a,trans_b,batch,type,baseline,variant,expected,seconds,hypothesis\n"
QUEUE = HEADER + """fetch ahead,512,96,40,0,1,1,f16,family=matrix tile_m=64 stage=shared,stage=stored,0.8,1,Why, with commas.
,35,17,300,1,0,1,f32,,stage=stored,,,
,35,17,300,1,0,3,,,stage=stored,1,,
,35,17,300,1,0,3,,,stage=stored tile_m=32,,,
edges,35,17,300,0,0,1,f32,family=tiled tile_m=64 stage=shared,edge=exact,0.6,2,Another why.
"""
REST = "tile_n=64 reg_m=4"


@pytest.fixture
def repository(tmp_path):
    into = tmp_path / "repository"
    shutil.copytree(SOURCES / "bench", into / "bench", ignore=shutil.ignore_patterns("*.cpp", "replay", "__pycache__"))
    shutil.copytree(SOURCES / "tests/model/data", into / "tests/model/data")
    for file in (into / "bench/experiments").glob("*.csv"):
        file.unlink()
    (into / "bench/experiments/some.csv").write_text("# Questions.\n" + QUEUE)
    (into / "bench/experiments/other.csv").write_text(HEADER + "pad,8,96,40,0,0,1,f32,family=tiled tile_m=64,shared_pad=8,0.9,1,Why.\n")
    return into


def answers(lines):
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow("experiment,problem,baseline,variant,expected,ratio,ratio_low,ratio_high,rounds,baseline_ns,variant_ns,verdict,"
                    "baseline_facts,variant_facts,failure".split(","))
    writer.writerows(lines)
    return file.getvalue().encode()


@functools.cache
def database(samples):
    """The exported database, which is packed in half of the time without its samples."""
    with lzma.open(RESULTS / "nvidia-h100.db.xz") as packed:
        whole = packed.read()
    if samples:
        return whole
    with tempfile.NamedTemporaryFile() as file:
        file.write(whole)
        file.flush()
        opened = sqlite3.connect(file.name, isolation_level=None)
        for table in ("samples", "compiler_facts"):
            opened.execute(f"DELETE FROM {table}")
        opened.execute("VACUUM")
        opened.close()
        return pathlib.Path(file.name).read_bytes()


def brought(samples=False):
    """What a run leaves, by name."""
    files = {"export.db": database(samples)}
    for name, table in {"gemm-default": "f32", "gemm-types": "types", "decode": "decode", "dispatch": "dispatch"}.items():
        files[f"{name}.csv"] = (RESULTS / f"nvidia-h100-{table}.csv").read_bytes()
    matrix, tiled = f"family=matrix tile_m=64 stage=shared {REST}", f"family=tiled tile_m=64 stage=shared {REST}"
    files["experiments-some.csv"] = answers([
        ["fetch ahead", "512x96x40 nt f16", matrix, matrix.replace("shared", "stored"), "0.8", "0.70", "0.69", "0.71", "9", "24100", "16900",
         "as expected", "96 registers", "119 registers", ""],
        ["fetch ahead", "35x17x300 tn", matrix, matrix.replace("shared", "stored"), "0.8", "0.9", "0.8", "1", "9", "10", "9", "open", "", "", ""],
        ["fetch ahead", "35x17x300 tn batch 3", matrix, matrix.replace("shared", "stored"), "1", "1", "0.9", "1.1", "9", "10", "10", "equal", *[""] * 3],
        ["fetch ahead", "35x17x300 tn batch 3", matrix, matrix.replace("shared", "stored").replace("64 s", "32 s"), "1", *[""] * 9, "is illegal here"],
        ["edges", "35x17x300 nn", tiled, tiled + " edge=exact", "0.6", "0.95", "0.94", "0.96", "9", "9000", "8600", "not so", "", "", ""]])
    files["experiments-other.csv"] = answers([["pad", "8x96x40 nn", f"family=tiled tile_m=64 {REST}", f"family=tiled tile_m=64 shared_pad=8 {REST}",
                                                "0.9", "0.8", "0.7", "0.85", "9", "10", "8", "as expected", "", "", ""]])
    files["transfer.csv"] = (b"part,what,size,wall_ns,wall_low_ns,wall_high_ns,rounds,device_ns,predicted_ns,detail,failure\n"
                             b'dispatches,side by side,64,61000,60000,62000,9,41000,30000,"",""\n'
                             b'calls,35x17x300 nn staged,178500,90000,80000,99000,9,,80000,"submit 17 us, in 2 us",""\n')
    files["errors.csv"] = b"k,way,error,bound\n64,BLAS,2.904,67\n64,three parts,0.871,67\n256,BLAS,2.1,259\n"
    files["certificates.log"] = b"[==========] 21 tests ran.\n[  PASSED  ] 21 tests.\n"
    files["summary.txt"] = (b"gpu-run, 2026-12-03 05:53 UTC: NVIDIA H100 80GB HBM3, commit 0a1b2c3d\n"
                            b"devices                  3 s  done in 1 s\ntune-llm                85 s  left\n")
    return files


def pack(files, target, mode="w:gz"):
    with tarfile.open(target, mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"gpu-work/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return target


def start(into, *arguments):
    return subprocess.run([sys.executable, SOURCES / "scripts/gpu-take", "--into", into, *map(str, arguments)], capture_output=True, text=True)


def taken(into, *arguments):
    done = start(into, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def contents(folder):
    return {file.relative_to(folder): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def section(page, title):
    return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)[1]


def test_tables_have_the_form_of_the_page_that_was_written_by_hand(repository, tmp_path):
    taken(repository, pack(brought(samples=True), tmp_path / "gpu-work.tar.gz"))
    before, after = (folder / "bench/results/nvidia-h100.md" for folder in (SOURCES, repository))
    before, after = before.read_text(), after.read_text()
    for title in ("Sets default and types", "Decoding"):
        wanted, found = ([line.replace("119.4", "119") for line in section(page, title).splitlines() if line.startswith("|")]
                         for page in (before, after))
        assert found == wanted and len(found) > 9
    assert "0.73 for float32 (worst 0.45, 15 problems)" in section(after, "Sets default and types")
    assert "float32 62.9 TFLOP/s" in section(after, "Rates") and "2026-12-03, commit 0a1b2c3d, driver 580.159.04: " in section(after, "Rates")
    assert "the host is right for 23 of 24" in " ".join(section(after, "Choice of tiers").split())
    assert "21 certificates passed" in section(after, "Correctness")
    assert "| dispatches | side by side | 64 | 61.0 | 41.0 | 30.0 |" in section(after, "Floor")
    assert "| k | BLAS | three parts |\n|---|---|---|\n| 64 | 2.9 | 0.9 |\n| 256 | 2.1 | |" in section(after, "Errors").replace("|  |", "| |")
    assert section(after, "First call") == section(before, "First call"), "what no run brings stays"
    results = repository / "bench/results"
    for name, content in brought(samples=True).items():
        if name.endswith(".csv"):
            assert (results / f"nvidia-h100-{name.replace('gemm-default', 'f32').replace('gemm-', '')}").read_bytes() == content
    with lzma.open(results / "nvidia-h100.db.xz") as packed:
        assert packed.read() == brought(samples=True)["export.db"]
    for file in [results / "nvidia-h100.md", *(repository / "bench/notes").glob("2026-12-03*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", file.read_text()):
            assert (file.parent / link).exists(), (file, link)


def test_answers_move_to_a_note_and_the_rest_of_the_queue_keeps_its_meaning(repository, tmp_path):
    files = brought()
    whole = pack(files, tmp_path / "whole").read_bytes()
    parts = [tmp_path / f"gpu-work.tar.gz.0{i}" for i in range(2)]
    parts[0].write_bytes(whole[:9999]), parts[1].write_bytes(whole[9999:])
    said = taken(repository, *reversed(parts))
    assert not (repository / "bench/experiments/other.csv").exists()
    assert (repository / "bench/experiments/some.csv").read_text() == "# Questions.\n" + HEADER + (
        "fetch ahead,35,17,300,1,0,1,f32,family=matrix tile_m=64 stage=shared,stage=stored,0.8,1,Why, with commas.\n"
        ",35,17,300,1,0,3,,,stage=stored tile_m=32,1,,\n"), "open and failed questions stay"
    notes, name = repository / "bench/notes", "2026-12-03-nvidia-h100-experiments"
    note = (notes / f"{name}.md").read_text()
    assert "| fetch ahead | 512x96x40 nt f16 | stage=stored | 0.8 | 0.70 (0.69 to 0.71) | 24.1 -> 16.9 | as expected; 96 registers -> 119 registers |" in note
    assert "| edges | 35x17x300 nn | edge=exact | 0.6 | 0.95 (0.94 to 0.96) | 9.0 -> 8.6 | not so |" in note
    assert "| is illegal here |" in note and "- fetch ahead: Why, with commas.\n" in note
    assert f"| [2026-12-03 nvidia-h100 experiments]({name}.md) |" in (notes / "README.md").read_text()
    assert "- experiment, edges, 35x17x300 nn, edge=exact: expected 0.6, measured 0.95" in said
    taken(repository, *parts)  # Nothing of the queue is asked twice, and no note is overwritten.
    assert (notes / f"{name}.md").read_text() == note
    assert (notes / f"{name}-2.md").exists()


def kernels_tar(rows, listings):
    """What gpu-run keeps: rows of (problem, kernel, hash), and counts of opcodes by hash."""
    table = io.StringIO()
    csv.writer(table).writerows([["problem", "kernel", "hash", "cache_bytes", "note"], *([*row, "99", ""] for row in rows)])
    files = {"kernels.csv": table.getvalue().encode(), "aa.cache": b"\0" * 99}
    for hash, opcodes in listings.items():
        files[f"{hash}.json"] = json.dumps({"kernels": [{"main_loop": {"opcodes": opcodes}}]}).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def test_counts_of_opcodes_stand_beside_the_times(repository, tmp_path):
    files = brought()
    before = list(csv.DictReader(io.StringIO(files["experiments-some.csv"].decode())))
    first = before[0]
    files["kernels.tar"] = kernels_tar(
        [(first["problem"], first["baseline"], "aa"), (first["problem"], first["variant"], "bb"), (first["problem"], "another", "cc")],
        {"aa": {"HMMA.16816.F32": 64, "LDS.128": 3, "LDS": 1, "MOV": 7, "IADD3": 5}, "cc": {"FFMA": 9}})
    taken(repository, pack(files, tmp_path / "gpu-work.tar.gz"))
    with open(repository / "bench/results/nvidia-h100-experiments-some.csv", newline="") as file:
        after = list(csv.DictReader(file))
    assert (after[0].pop("baseline_sass"), after[0].pop("variant_sass")) == ("64 HMMA 4 LDS 7 MOV of 80", "")
    assert {row.pop(f"{side}_sass") for row in after[1:] for side in ("baseline", "variant")} == {""}
    assert after == before
    note, = (repository / "bench/notes").glob("2026-12-03-*.md")
    assert "; 96 registers, 64 HMMA 4 LDS 7 MOV of 80 -> 119 registers |" in note.read_text()


def test_kept_kernels_that_cannot_be_read_cost_nothing_else(repository, tmp_path):
    files = brought()
    tar = kernels_tar([("p", "k", "aa")], {"aa": {"MOV": 1}})
    for number, content in enumerate([tar[:700], b"no tar", tar.replace(b'"main_loop"', b'"main_hoop"'), tar.replace(b"kernels.csv", b"other__.csv")]):
        said = taken(repository, pack(dict(files, **{"kernels.tar": content}), tmp_path / str(number)))
        assert "missing: counts of kernels.tar, which is incomplete" in said, said
    assert (repository / "bench/results/nvidia-h100-experiments-some.csv").read_bytes() == files["experiments-some.csv"]


def test_predictions_that_were_wrong_are_printed(repository, tmp_path):
    files = brought(samples=True)
    columns, *rows = files["dispatch.csv"].decode().splitlines()
    regret = columns.split(",").index("regret")
    costs = [1 + float(row.split(",")[regret]) for row in rows]
    (tmp_path / "export.db").write_bytes(files["export.db"])
    opened = sqlite3.connect(tmp_path / "export.db")
    # As if the driver needed thrice the registers that Mesa's compiler counted, and the fastest kernel were the slowest.
    opened.execute("UPDATE compiler_facts SET registers = 3 * registers")
    opened.execute("UPDATE samples SET kernel_ns = 1e12 / kernel_ns WHERE kernel_ns > 0")
    opened.commit()
    opened.close()
    files["export.db"] = (tmp_path / "export.db").read_bytes()
    said = taken(repository, pack(files, tmp_path / "gpu-work.tar.gz"))
    assert f"- model, tier of a call: costs more than a tenth for {sum(cost > 1.1 for cost in costs)} of {len(rows)}; 769x150x7 nt 1.61 x" in said
    assert "- model, dispatches: measured over predicted 2.03 (median), beyond a factor of 1.5 for 1 of 1; side by side 64 2.03 x" in said
    assert "- model, calls: " not in said, "90 of 80 us is right"
    assert re.search(r"^- gpu-compilers \(172\), registers: measured over predicted 3\.\d+ \(median\), .* for (\d+) of \1;", said, re.MULTILINE), said
    assert "- gpu-compilers (172), order by others for each product: the other way for 2 of 3; 2048x2048x2048 nn f32, tiled 128x128x16" in said, said
    assert "not done: tune-llm                85 s  left" in said and "missing" not in said


def test_what_is_missing_is_said(repository, tmp_path):
    files = brought()
    whole = files["decode.csv"]
    files["decode.csv"] = whole[:whole.rindex(b",", 0, -9)]  # The last line is cut off.
    for name in ("gemm-default.csv", "gemm-types.csv", "transfer.csv", "summary.txt"):
        del files[name]
    files["notes.csv"] = b"a,b\n1,2\n"
    folder = tmp_path / "gpu-work"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    before = (repository / "bench/results/nvidia-h100.md").read_text()
    said = taken(repository, folder)
    assert "missing: 1 lines of decode.csv, which are cut off" in said and "missing: a table of gemm" in said and "missing: a table of floor" in said
    assert "missing: a meaning of notes.csv" in said
    after = (repository / "bench/results/nvidia-h100.md").read_text()
    assert section(after, "Sets default and types") == section(before, "Sets default and types")
    assert "| mxfp4 |" in section(after, "Decoding") and "| q4b32 |" not in section(after, "Decoding")
    assert "2026-11-26, commit unknown" in section(after, "Rates"), "the day of the calibration"


@pytest.mark.parametrize("kept", [0, 1e-5, 0.01, 0.5, 0.999])
def test_an_archive_that_is_cut_off_changes_nothing(repository, tmp_path, kept):
    whole = pack(brought(), tmp_path / "whole").read_bytes()
    cut = tmp_path / "gpu-work.tar.gz"
    cut.write_bytes(whole[:int(kept * len(whole))])
    before = contents(repository)
    done = start(repository, cut)
    assert done.returncode == 1 and "is incomplete or no archive" in done.stderr and "nothing was written" in done.stderr, done
    assert contents(repository) == before


def test_an_archive_with_a_wrong_bit_changes_nothing(repository, tmp_path):
    whole = pack(brought(), tmp_path / "whole").read_bytes()
    damaged, before = tmp_path / "gpu-work.tar.gz", contents(repository)
    for at in range(2, len(whole), len(whole) // 12):
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1:])
        done = start(repository, damaged)
        assert done.returncode == 1 and "nothing was written" in done.stderr, (at, done)
        assert contents(repository) == before
    damaged.write_bytes(whole[:-10])
    assert start(repository, damaged).returncode == 1 and contents(repository) == before


def test_a_rehearsal_is_refused(repository, tmp_path):
    files = brought()
    files["summary.txt"] = files["summary.txt"].replace(b"0a1b2c3d\n", b"0a1b2c3d, a rehearsal\n")
    before = contents(repository)
    done = start(repository, pack(files, tmp_path / "gpu-work.tar.gz"))
    assert done.returncode == 1 and "that is a rehearsal" in done.stderr and contents(repository) == before, done


def test_where_one_file_cannot_be_written_none_is(repository, tmp_path):
    archive = pack(brought(), tmp_path / "gpu-work.tar.gz")
    (repository / "bench/results/nvidia-h100.db.xz").unlink()
    (repository / "bench/results/nvidia-h100.db.xz").mkdir()
    before = contents(repository)
    done = start(repository, archive)
    assert done.returncode == 1 and re.match("gpu-take: cannot write into .*; nothing was written", done.stderr), done
    assert contents(repository) == before


def test_what_is_no_archive_of_gpu_run_changes_nothing(repository, tmp_path):
    foreign = {"readme.txt": b"hello"}
    half = dict(brought(), **{"export.db": brought()["export.db"][:40960]})
    none = dict(brought(), **{"export.db": b"not a database"})
    no_device = {"devices.log": b"no Vulkan device"}
    archives = {name: pack(files, tmp_path / name) for name, files in
                {"foreign": foreign, "half": half, "none": none, "no_device": no_device}.items()}
    archives["text"] = tmp_path / "text"
    archives["text"].write_bytes(b"gpu-run\n" * 100)
    archives["compressed"] = tmp_path / "compressed"
    archives["compressed"].write_bytes(gzip.compress(b"gpu-run\n" * 100))
    archives["absent"] = tmp_path / "absent"
    for name in ("../decode.csv", "/decode.csv", "gpu-work/more/decode.csv", "gpu-work/link"):
        archives[name] = tmp_path / name.replace("/", "_")
        pack(brought(), archives[name], "w")
        with tarfile.open(archives[name], "a") as archive:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE if "link" in name else tarfile.REGTYPE, "decode.csv"
            archive.addfile(member)
        archives[name].write_bytes(gzip.compress(archives[name].read_bytes()))
    before = contents(tmp_path)
    for name, archive in archives.items():
        done = start(repository, archive)
        assert done.returncode == 1 and re.fullmatch(r"gpu-take: .*; nothing was written\n", done.stderr), (name, done)
    assert contents(tmp_path) == before


def test_a_queue_that_is_written_back_asks_the_same(tmp_path):
    sys.path.insert(0, str(SOURCES / "bench"))
    from taking.questions import queue_text, read_queue
    for file in (SOURCES / "bench/experiments").glob("*.csv"):
        head, questions = read_queue(file)
        (tmp_path / file.name).write_text(queue_text(head, questions))
        assert read_queue(tmp_path / file.name) == (head, questions), file


@pytest.mark.parametrize("arguments", [[], ["--name", "../x", "archive"], ["--unknown"]])
def test_wrong_arguments_are_usage_errors(repository, arguments):
    assert start(repository, *arguments).returncode == 2
