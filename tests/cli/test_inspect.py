"""`rooftile inspect` on drivers with and without statistics, and its files."""
import contextlib
import glob
import json
import os
import re
import sqlite3
import subprocess

import pytest
import schemas

from conftest import SOURCE

SCHEMA = schemas.load("inspect")
NAIVE = ["--variant", "family=naive tile_m=4 tile_n=8"]
# RADV compiles without its hardware.
RADV = sorted(glob.glob("/usr/share/vulkan/icd.d/radeon_icd*.json"))[:1]


@pytest.fixture
def radv(rooftile):
    rooftile.environment.update(RADV_FORCE_FAMILY="navi21", VK_DRIVER_FILES=RADV[0], VK_ICD_FILENAMES=RADV[0])
    return rooftile


@pytest.fixture
def tuned(radv):
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], radv.database, "fast"], check=True)
    return radv


def inspected(rooftile, *options):
    return json.loads(rooftile.run("inspect", "--json", *options).stdout)


def test_a_driver_without_statistics_is_said(rooftile):
    text = rooftile.run("inspect", *NAIVE).stdout
    assert "llvmpipe" in text and "this driver gives neither statistics nor assembly of kernels" in text
    kernel = inspected(rooftile, *NAIVE)["kernels"][0]
    assert (kernel["compilation"], kernel["loop"], kernel["main_loop"]) == ("done", "no assembly", None)
    rooftile.refuses("inspect", *NAIVE, "--assembly", "-", says="gives no assembly of this kernel")


def test_an_illegal_kernel_is_said(rooftile):
    run = rooftile.run("inspect", "--variant", "family=matrix tile_m=64 tile_n=64", code=1)
    assert "illegal here: the device has no matrix units" in run.stdout


def test_statistics_and_main_loop(radv):
    text = radv.run("inspect", "--family", "tiled", "--trans-b").stdout
    assert re.search(r"tiled .* f32\.nt +\d+ +0 +0 +\d+ +\d+ +0 +\d+ +\d+ +\d\.\d+\n", text), text
    assert "VGPRs: " in text and "multiply-adds of a subgroup in each trip" in text
    kernel = inspected(radv, "--family", "tiled", "--trans-b")["kernels"][0]
    loop = kernel["main_loop"]
    variant = dict(setting.split("=") for setting in kernel["kernel"].split())
    least = int(variant["reg_m"]) * int(variant["reg_n"]) * int(variant["unroll_k"])
    assert loop["instructions"]["multiply_add"] >= least and loop["instructions"]["unknown"] == 0
    assert loop["multiply_adds"] == loop["instructions"]["multiply_add"] * kernel["subgroup_size"]


def test_assembly_holds_the_lines_of_the_main_loop(radv):
    loop = inspected(radv, "--family", "register")["kernels"][0]["main_loop"]
    radv.run("inspect", "--family", "register", "--assembly", "kernel.s")
    lines = (radv.folder / "kernel.s").read_text().splitlines()
    work = [line for line in lines[loop["first_line"] - 1:loop["last_line"]] if re.search("v_(fma|mac|mad)", line)]
    assert len(work) >= loop["instructions"]["multiply_add"]
    assert radv.run("inspect", "--family", "register", "--assembly", "-").stdout.splitlines() == lines
    radv.refuses("inspect", "--priors", "--assembly", "-", says="of one kernel, and these options choose", code=2)


def test_what_was_kept_is_not_compiled_again(radv):
    before = inspected(radv, "--family", "vector", "--keep", "kept")
    [file] = (radv.folder / "kept").iterdir()
    assert inspected(radv, "--family", "vector", "--keep", "kept") == before == inspected(radv, "--family", "vector")
    file.write_text(file.read_text().replace("VGPRs", "changed"))
    assert inspected(radv, "--family", "vector", "--keep", "kept")["kernels"][0]["facts"]["registers"] is None
    radv.refuses("inspect", "--family", "vector", "--keep", "/proc/kept", says="/proc/kept/.* cannot be written")


def test_lists_of_kernels(radv):
    space = inspected(radv, "--list-space", "--family", "vector", "--limit", 2)["kernels"]
    assert len(space) == 2 and all("family=vector" in kernel["kernel"] for kernel in space)
    priors = inspected(radv, "--priors", "--type", "f32")["kernels"]
    assert priors and all(kernel["origin"].startswith("prior of amd_") for kernel in priors)
    assert {kernel["class"] for kernel in priors} == {"f32.nn"}
    defaults = inspected(radv, "--defaults", "--type", "f16")["kernels"]
    origins = [kernel["origin"] for kernel in defaults]
    assert "default of vector" in origins
    assert {origin.split(",")[1].split(":")[0].strip() for origin in origins if origin.startswith("untuned, ")} >= {"large", "row"}
    ranked = inspected(radv, "--ranked", "--m", 512, "--n", 512, "--k", 512, "--limit", 3)["kernels"]
    assert len(ranked) == 3 and ranked[0]["origin"].startswith("untuned: ")
    assert "predicted to be number 1 by the published rates of RDNA 1 and 2" in {kernel["origin"] for kernel in ranked}
    radv.refuses("inspect", "--list-space", "--family", "matrix", says="no such kernel")


def test_a_label_and_a_page_of_several_runs(rooftile, radv):
    for name, options in (("first", ["--label", "card <1>"]), ("second", [])):
        radv.run("inspect", "--family", "naive", "--json", "-o", f"{name}.json", *options)
    radv.run("inspect", "first.json", "second.json", "--page", "page.html")
    page = (radv.folder / "page.html").read_text()
    assert "card &lt;1&gt;" in page and ">second<" in page and "</html>" in page
    assert page.count("<tr>") == 2, "a row of heads, and one kernel"
    radv.run("inspect", "--family", "naive", "--page", "one.html")
    assert "o/m" in (radv.folder / "one.html").read_text()


def test_a_listing_of_nvidias_tools(rooftile):
    listing = SOURCE / "tests" / "inspect" / "excerpts" / "sass_by_hand.txt"
    text = rooftile.run("inspect", "--sass", listing).stdout
    assert "6  matrix operations HMMA.16816.F32" in text and re.search("opcodes: .* 4 LDSM, 2 MOV, ", text), text
    kernel, = inspected(rooftile, "--sass", listing)["kernels"]
    assert kernel["facts"]["registers"] == 80 and kernel["main_loop"]["opcodes"]["LDSM.16.M88.4"] == 2
    (rooftile.folder / "notes.txt").write_text("Dear all,\n")
    rooftile.refuses("inspect", "--sass", "notes.txt", says="notes.txt: line 1: there is no instruction")
    rooftile.refuses("inspect", "--sass", listing, "--family", "naive", says="--sass and --family do not go together", code=2)
    rooftile.refuses("inspect", "one.json", "--page", "p.html", "--sass", listing, says="files of earlier runs and --sass do not", code=2)


def test_a_kernel_of_the_database(tuned):
    # One that is built for no size of subgroups: the device of this test has others than that of the database.
    any_size = "SELECT hash FROM candidates WHERE variant LIKE '%subgroup_size=0%' ORDER BY id LIMIT 1"
    (hash,) = tuned.run("query", any_size).stdout.splitlines()[1:]
    kernel = inspected(tuned, "--hash", hash.strip())["kernels"][0]
    assert kernel["origin"] == f"kernel {hash.strip()}"
    tuned.refuses("inspect", "--hash", "ffffffffffffffff", says="has no kernels? whose hash")
    tuned.refuses("inspect", "--hash", "x' OR 1", says="digits 0 to 9 and a to f", code=2)


def test_the_portfolio_of_an_untuned_device_is_what_the_tuner_begins_with(radv):
    kernels = inspected(radv, "--portfolio", "--type", "f32")["kernels"]
    assert {kernel["class"] for kernel in kernels} == {"f32.nn"}
    origins = [kernel["origin"] for kernel in kernels]
    assert origins[0] == "portfolio, large: default kernel" and origins[-1] == "portfolio, legal almost everywhere"
    assert any(origin.startswith("portfolio, row: prior: ") for origin in origins), origins
    assert any(origin.endswith("predicted by the published rates of RDNA 1 and 2") for origin in origins), origins
    assert all(kernel["compilation"] == "done" for kernel in kernels)
    radv.refuses("inspect", "--portfolio", "--priors", says="cannot be used together", code=2)
    radv.refuses("inspect", "--portfolio", "--family", "tiled", says="parameters of kernels go with --list-space", code=2)


def test_the_portfolio_of_a_tuned_device_comes_from_the_database(radv):
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], radv.database, "fast"], check=True, env=radv.environment)
    with contextlib.closing(sqlite3.connect(radv.database)) as database, database:
        ((candidate, signature),) = database.execute("SELECT id, signature FROM candidates WHERE signature = 'f32.tn' LIMIT 1")
        database.execute("INSERT INTO portfolio (device_id, candidate_id, place, times) SELECT id, ?, 1, '[]' FROM devices", [candidate])
    (kernel,) = inspected(radv, "--portfolio")["kernels"]
    assert kernel["class"] == signature and kernel["compilation"] == "done"
    assert kernel["origin"].startswith("number 2 of the portfolio in ") and str(radv.database) in kernel["origin"]
    # Of types without a portfolio there, what a new one would begin with.
    assert inspected(radv, "--portfolio", "--type", "i8_i32")["kernels"][0]["origin"] == "portfolio, large: default kernel"


def test_every_field_is_explained():
    assert list(schemas.unexplained(SCHEMA)) == []
    of_report = schemas.load("report")["$defs"]["facts"]["properties"]
    assert SCHEMA["$defs"]["facts"]["properties"] == of_report


def test_json_is_as_documented(rooftile):
    text = rooftile.run("inspect", *NAIVE, "--json").stdout
    assert schemas.validate(SCHEMA, text, "inspection")["kernels"][0]["main_loop"] is None
    illegal = rooftile.run("inspect", "--json", "--variant", "family=matrix tile_m=64 tile_n=64", code=1).stdout
    assert schemas.validate(SCHEMA, illegal, "inspection")["kernels"][0]["compilation"] == "illegal"
    listing = SOURCE / "tests" / "inspect" / "excerpts" / "sass_by_hand.txt"
    schemas.validate(SCHEMA, rooftile.run("inspect", "--json", "--sass", listing).stdout, "inspection")


def test_the_schema_refuses_every_corrupted_document(radv):
    document = schemas.validate(SCHEMA, radv.run("inspect", "--json", "--family", "tiled").stdout, "inspection")
    assert document["kernels"][0]["main_loop"]["accesses"]
    opcodes = {"matrix_operations", "unknown_instructions", "opcodes"}
    assert schemas.accepted_errors(SCHEMA, document, {"opcodes"}, opcodes) == []
