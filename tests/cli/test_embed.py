"""`rooftile embed`: what it takes of databases, what compilers and drivers make of it, and the program of examples/embedded."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import SOURCE, Rooftile, change

STRICT = ["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
COMPILERS = {"gcc": "c99", "g++": "c++17", "clang": "c99", "clang++": "c++17"}
SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json"


@pytest.fixture
def tuned(exporter, tmp_path):
    """A copy of the database, in a folder of its own."""
    copy = Rooftile(tmp_path)
    shutil.copy(exporter.database, copy.database)
    return copy


def embedded(rooftile, *arguments):
    """The header's text, and what was said of it."""
    run = rooftile.run("embed", "-o", "kernels.h", *arguments)
    return (rooftile.folder / "kernels.h").read_text(), run.stdout + run.stderr


def test_float64_kernels_are_left_out(tmp_path):
    rooftile = Rooftile(tmp_path)
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], rooftile.database, "even", "f32", "f64"], check=True)
    header, said = embedded(rooftile)
    assert "left out: for float64, which no embedded kernel has" in said
    assert classes(header) and not any("F64" in name.upper() for name in classes(header))
    rooftile.refuses("embed", "-o", "other.h", "--type", "f64", says="no embedded kernel computes float64")
    assert not (rooftile.folder / "other.h").exists()


def classes(header):
    return re.findall(r"^  ROOFTILE_EMBED_(\w+) = \d+,$", header.split("typedef enum rooftile_embed_class {")[1].split("}")[0],
                      re.MULTILINE)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_compiler_takes_the_header_without_a_warning(tuned, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    embedded(tuned)
    language = "c" if COMPILERS[compiler] == "c99" else "c++"
    for name, define in (("declarations", []), ("implementation", ["-DROOFTILE_EMBED_IMPLEMENTATION"])):
        source = tuned.folder / f"{name}.{language}"
        source.write_text('#include "kernels.h"\n#include "kernels.h"\n')
        subprocess.run([compiler, "-x", language, f"-std={COMPILERS[compiler]}", *STRICT, *define, "-c", source, "-o",
                        tuned.folder / f"{name}.o"], check=True)
    symbols = subprocess.run(["nm", "-g", "--defined-only", tuned.folder / "implementation.o"], capture_output=True, text=True)
    names = {line.split()[-1] for line in symbols.stdout.splitlines()}
    assert names and all(name.startswith("rooftile_embed_") for name in names), names


def test_the_example_is_built_with_nothing_but_the_header(tuned):
    example = tuned.folder / "embedded"
    shutil.copytree(SOURCE / "examples/embedded", example)
    tuned.run("embed", "-o", example / "kernels/gemm_kernels.h")
    build = tuned.folder / "build"
    flags = "-Wall -Wextra -Wpedantic -Werror"
    for command in (["cmake", "-S", example, "-B", build, f"-DCMAKE_C_FLAGS={flags}"], ["cmake", "--build", build]):
        subprocess.run(command, check=True, capture_output=True)
    said = subprocess.run([build / "embedded"], check=True, capture_output=True, text=True).stdout
    assert re.match(r"device: llvmpipe .*, measured\nkernel: (?!naive).*, certified on llvmpipe .*: 20\d\d-\d\d-\d\d\n", said), said
    assert said.endswith("\nright\n")
    for compiler, language in COMPILERS.items():
        language = ["-x", "c++", f"-std={language}"] if "++" in compiler else [f"-std={language}"]
        subprocess.run([compiler, *language, *STRICT, "-I", example / "kernels", "-fsyntax-only", example / "main.c"], check=True)
    if os.path.exists(SWIFTSHADER):  # A device that nobody has measured.
        other = subprocess.run([build / "embedded"], check=True, capture_output=True, text=True,
                               env=dict(os.environ, VK_DRIVER_FILES=SWIFTSHADER, VK_ICD_FILENAMES=SWIFTSHADER)).stdout
        assert re.search(r"^device: SwiftShader .*, not measured for such a product\nkernel: naive 8x8 1x1, certified on llvmpipe", other), other
        assert other.endswith("\nright\n"), other


def test_a_project_in_cpp_alone_takes_the_folder(tuned):
    project = tuned.folder / "project"
    shutil.copytree(SOURCE / "examples/embedded/kernels", project / "kernels")
    tuned.run("embed", "-o", project / "kernels/gemm_kernels.h")
    (project / "main.cpp").write_text("#include <gemm_kernels.h>\nint main() { return rooftile_embed_describe(-1) != nullptr; }\n")
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(app LANGUAGES CXX)\nadd_subdirectory(kernels)\n"
        "add_executable(app main.cpp)\ntarget_link_libraries(app PRIVATE gemm_kernels)\n")
    subprocess.run(["cmake", "-S", project, "-B", project / "build"], check=True, capture_output=True)
    subprocess.run(["cmake", "--build", project / "build"], check=True, capture_output=True)
    subprocess.run([project / "build/app"], check=True)


def test_a_database_that_is_named_twice_counts_once(tuned):
    once = embedded(tuned)[0]
    assert embedded(tuned, "--with", tuned.database)[0].replace(" --with rooftile.db", "") == once


def test_filters_choose_classes_and_problems(tuned):
    header, said = embedded(tuned)
    assert classes(header) == ["F32_NN", "F32_NT", "F32_TN", "F32_TT"]
    assert re.match(r"kernels\.h: \d+ kernels of 4 classes for 1 device, \d+ kB of SPIR-V\n", said)
    (tuned.folder / "shapes.csv").write_text("m,n,k,trans_a,trans_b,batch,note\n64,64,64,0,1,1,tuned\n65,64,64,0,1,1,not\n")
    header, said = embedded(tuned, "--shapes", "shapes.csv")
    assert classes(header) == ["F32_NT"] and "1 problem of the list is not tuned on any of the devices" in said
    tuned.refuses("embed", "-o", "x.h", "--type", "f16", says="none of the wanted types and problems is tuned, but f32.nn, f32.nt, .*--type")
    _, said = embedded(tuned, "--type", "f32", "--type", "bf16")
    assert "nothing of type bf16 is tuned" in said
    tuned.refuses("embed", "-o", "x.h", "--device", "moon", says="no device in these databases that matches 'moon'")
    assert not (tuned.folder / "x.h").exists()


def test_only_what_may_be_dispatched_is_taken(tuned):
    change(tuned.database, "UPDATE candidates SET hash = 'old' || hash WHERE family <> 'naive'")
    _, said = embedded(tuned)
    assert re.search(r"\d kernels? of llvmpipe .* left out: of another version of Rooftile's generator", said)
    change(tuned.database, "INSERT INTO certificates (device_id, candidate_id, generator_version, verdict, detail) "
           "SELECT device_id, candidate_id, generator_version, 'revoked', 'test' FROM certificates")
    tuned.refuses("embed", "-o", "x.h", says="no tuned kernels to embed; .* not certified .*`rooftile tune` on that device")


def test_an_export_counts_as_certified_where_it_was_measured(exporter, tmp_path):
    other = Rooftile(tmp_path)
    header, _ = embedded(other, "--with", exporter.folder / "tuned.db")
    assert re.search(r'"llvmpipe [^"]*: 20\d\d-\d\d-\d\d, by the machine that exported it', header)
    # An equal device, once more.
    assert " for 1 device, " in embedded(other, "--with", exporter.database, "--with", exporter.folder / "tuned.db")[1]
    # Other imported data has no certificates.
    other.run("db", "merge", "fleet.db", exporter.folder / "tuned.db")
    says = "imported, which have no certificates; name the exports that they came from by --with"
    other.refuses("embed", "-o", "x.h", "--db", "fleet.db", says=rf"\d kernels of llvmpipe .* {says}")
    assert says not in embedded(other, "--with", exporter.database, "--with", "fleet.db")[1]
    change(other.folder / "fleet.db", "UPDATE devices SET name = 'another card'")
    said = embedded(other, "--with", exporter.database, "--with", "fleet.db")[1]
    assert re.search(rf"\d kernels of another card left out: {says}", said)
    # A stranger's text stays text.
    shutil.copy(exporter.folder / "tuned.db", tmp_path / "strange.db")
    change(tmp_path / "strange.db", """UPDATE devices SET name = 'Card */ #error "\\' || char(10) || '#error'""")
    header, _ = embedded(other, "--with", "strange.db")
    (tmp_path / "strange.c").write_text('#define ROOFTILE_EMBED_IMPLEMENTATION\n#include "kernels.h"\n')
    subprocess.run(["gcc", "-std=c99", *STRICT, "-c", "strange.c", "-o", "strange.o"], cwd=tmp_path, check=True)
    (tmp_path / "none.db").write_bytes(b"no database")
    other.refuses("embed", "-o", "x.h", "--with", "none.db", says="none.db")
    other.refuses("embed", "-o", "x.h", says="rooftile.db")


def test_the_plain_kernel_is_certified_here_where_nobody_has(tuned):
    change(tuned.database, "DELETE FROM certificates WHERE candidate_id IN (SELECT id FROM candidates WHERE family = 'naive')")
    header, said = embedded(tuned)
    assert "without a kernel for other devices" not in said and "no plain kernel" not in header
    before = tuned.database.read_bytes()
    said = tuned.run("embed", "-o", "kernels.h", VK_DRIVER_FILES="/nonexistent", VK_ICD_FILENAMES="/nonexistent").stderr
    assert "4 classes without a kernel for other devices" in said
    assert (tuned.folder / "kernels.h").read_text().count("; no plain kernel for other devices") == 4
    assert tuned.database.read_bytes() == before, "databases are only read"


def test_the_folder_of_modules_says_all_that_the_header_knows(tuned):
    said = tuned.run("embed", "--spirv-dir", "new/kernels", "-o", "kernels.h").stdout
    folder = tuned.folder / "new/kernels"
    told = json.loads((folder / "kernels.json").read_text())
    modules = {shader["file"] for shader in told["shaders"]}
    assert modules == {file.name for file in folder.iterdir()} - {"kernels.json"}
    assert f"in {len(modules) + 1} files" in said
    for module in modules:
        subprocess.run(["spirv-val", "--target-env", "vulkan1.1", folder / module], check=True)
        text = subprocess.run(["spirv-dis", folder / module], check=True, capture_output=True, text=True).stdout
        assert "OpName" not in text and "OpSource" not in text
    for kernel in told["kernels"]:
        assert set(kernel["shaders"].values()) <= modules and "gemm" in kernel["shaders"]
        assert kernel["certificates"]
    header = (tuned.folder / "kernels.h").read_text()
    assert all(kernel["hash"] in header for kernel in told["kernels"])
    assert [shader["push_constants_bytes"] for shader in told["shaders"]].count(4 * len(told["push_constants"]["gemm"])) > 0
    assert {(x["m"], x["n"], x["k"]) for x in told["lists"][0]["tuned"]} == {(64, 64, 64)}


def test_wrong_command_lines_are_refused(tuned):
    tuned.refuses("embed", says="needs -o FILE or --spirv-dir FOLDER", code=2)
    tuned.refuses("embed", "-o", "", says="-o|--output", code=2)
    tuned.refuses("embed", "-o", "x.h", "--set", "all", says="--set", code=2)
    tuned.refuses("embed", "-o", "x.h", "--set", "llm", "--shapes", "x.csv", says="--shapes", code=2)
    tuned.refuses("embed", "-o", "x.h", "--type", "f33", says="f33", code=2)
    tuned.refuses("embed", "-o", "no/folder/x.h", says="no/folder/x.h")
    tuned.refuses("embed", "--spirv-dir", "rooftile.db", says="rooftile.db")
    before = tuned.database.read_bytes()
    os.link(tuned.database, tuned.folder / "linked.h")
    for name in ("rooftile.db", "linked.h"):
        tuned.refuses("embed", "-o", name, says=f"{name} is a database, which would be lost", code=2)
        tuned.refuses("report", "--html", name, says=f"{name} is a database, which would be lost", code=2)
    for name in ("rooftile.db-wal", "rooftile.db-shm", "rooftile.db-journal"):
        tuned.refuses("embed", "-o", name, says=f"{name} is the name of a file that SQLite keeps beside a database", code=2)
    os.mkfifo(tuned.folder / "pipe")
    tuned.run("emit", "--m", 8, "--n", 8, "--k", 8, "--spirv", "pipe-wal")
    assert (tuned.folder / "pipe-wal").stat().st_size > 100
    assert tuned.database.read_bytes() == before


def test_a_header_can_be_piped_and_says_how_it_was_made(tuned):
    text = tuned.run("embed", "-o", "-", "--device", "llvmpipe", "--type", "f32").stdout
    assert text.startswith("/* Matrix products on Vulkan") and "with\n     rooftile embed --device llvmpipe --type f32\n" in text
    (tuned.folder / "one.h").write_text(text)
    (tuned.folder / "shapes.csv").write_text("m,n,k,trans_a,trans_b,batch,note\n64,64,64,0,1,1,tuned\n")
    tuned.run("embed", "-o", "two.h", "--shapes", "shapes.csv")
    (tuned.folder / "both.c").write_text('#include "one.h"\n#include "two.h"\n')
    failed = subprocess.run(["gcc", "-std=c99", "-c", "both.c"], cwd=tuned.folder, capture_output=True, text=True)
    assert failed.returncode != 0 and "a program has one header of rooftile embed" in failed.stderr
