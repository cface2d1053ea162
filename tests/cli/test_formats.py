"""Export as T4 and CSV, and import of T4, as users call them."""
import csv
import json
import re

import jsonschema
import pytest
from conftest import Rooftile, change
from test_database import machine, sql  # noqa: F401  (a fixture)

# The fields of T4 1.0.0 as Kernel Tuner publishes and writes them, in our own words; stricter where readers of T4 are.
TIME = {"type": "number", "minimum": 0}
T4 = {
    "type": "object",
    "required": ["schema_version", "results", "metadata"],
    "properties": {
        "schema_version": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+$"},
        "metadata": {"type": "object", "required": ["timeunit"], "properties": {"timeunit": {"const": "milliseconds"}}},
        "results": {"type": "array", "items": {
            "type": "object",
            "required": ["configuration", "times", "invalidity", "correctness", "measurements", "objectives", "timestamp"],
            "properties": {
                "timestamp": {"type": "string"},
                "configuration": {"type": "object", "additionalProperties": {"type": ["number", "string"]}},
                "objectives": {"type": "array", "items": {"const": "time"}, "minItems": 1},
                "times": {"type": "object", "required": ["compilation", "benchmark", "framework", "search_algorithm", "validation", "runtimes"],
                          "properties": {"compilation": TIME, "benchmark": TIME, "framework": TIME, "search_algorithm": TIME,
                                         "validation": TIME, "runtimes": {"type": "array", "items": TIME}}},
                "invalidity": {"enum": ["timeout", "compile", "runtime", "correctness", "constraints", "correct"]},
                "correctness": {"type": "number"},
                "measurements": {"type": "array", "contains": {"properties": {"name": {"const": "time"}}}, "items": {
                    "type": "object", "required": ["name", "value", "unit"],
                    "properties": {"name": {"type": "string"}, "value": {"type": ["number", "string", "array"]},
                                   "unit": {"type": "string"}}}},
            }}},
    }}


@pytest.fixture
def other(tmp_path_factory):
    return Rooftile(tmp_path_factory.mktemp("other"))


@pytest.fixture(autouse=True)
def capable(machine):
    """Devices that can run the kernel of the samples."""
    limits = json.dumps({"max_workgroup_invocations": 1024, "max_workgroup_size": [1024, 1024, 64]})
    change(machine.database, f"UPDATE devices SET limits = '{limits}'")


def t4_of(rooftile, name="out.json", *arguments):
    rooftile.run("db", "export", "--format", "t4", name, *arguments)
    return json.loads((rooftile.folder / name).read_text())


def test_t4_has_the_published_fields(machine):
    exported = t4_of(machine)
    jsonschema.validate(exported, T4)
    assert len(exported["results"]) == 3
    first = exported["results"][0]
    assert first["configuration"]["family"] == "naive" and first["configuration"]["tile_m"] == 16
    assert first["problem"] == {"m": 3, "n": 4, "k": 5, "type": "f32", "trans_a": False, "trans_b": False}
    assert first["measurements"][0] == {"name": "time", "value": 10e-6, "unit": "ms"}
    assert exported["metadata"]["rooftile"]["devices"][first["device"]]["name"] == "A GPU"


def test_t4_goes_from_one_database_to_another_and_is_not_used(machine, other):
    t4_of(machine)
    run = other.run("db", "import", machine.folder / "out.json")
    assert "2 devices, 2 runs, 3 samples, 2 ranked kernels" in run.stdout
    assert "no imported kernel is used before it is certified here" in run.stdout
    assert sql(other, "SELECT count(*) FROM winners") == 0
    assert sql(other, "SELECT count(*) FROM certificates") == 0
    assert sql(other, "SELECT group_concat(kernel_ns) FROM (SELECT kernel_ns FROM samples ORDER BY kernel_ns)") == "10.0,11.0,12.0"
    assert other.run("db", "check").stdout
    assert "nothing new" in other.run("db", "import", machine.folder / "out.json").stdout
    assert "exported by this database" in machine.run("db", "import", "out.json").stdout


def test_exports_are_narrowed_by_device_and_problem(machine):
    assert len(t4_of(machine, "one.json", "--device", "Another")["results"]) == 1
    assert len(t4_of(machine, "size.json", "--m", 3, "--n", 4, "--k", 5)["results"]) == 3
    machine.refuses("db", "export", "--format", "csv", "x.csv", "--m", 8, "--n", 8, "--k", 8, says="no samples of 8x8x8")
    assert not (machine.folder / "x.csv").exists()


def test_csv_is_a_table_with_every_sample(machine):
    machine.run("db", "export", "--format", "csv", "out.csv")
    with (machine.folder / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["kernel_ns"]) for row in rows] == [10, 11, 12]
    assert all(None not in row and None not in row.values() for row in rows)
    piped = machine.run("db", "export", "--format", "csv", "/dev/stdout").stdout
    assert piped == (machine.folder / "out.csv").read_text()


def test_an_export_replaces_no_file_unless_told_and_never_the_database(machine):
    (machine.folder / "out.csv").write_text("mine")
    machine.refuses("db", "export", "--format", "csv", "out.csv", says="--force")
    assert (machine.folder / "out.csv").read_text() == "mine"
    machine.run("db", "export", "--format", "csv", "out.csv", "--force")
    before = machine.database.read_bytes()
    machine.refuses("db", "export", "--format", "csv", machine.database, "--force", says="is a database, which would be lost", code=2)
    for target in (machine.database, f"{machine.database}-wal"):
        machine.refuses("db", "export", target, "--force", says="is the database itself, or a part of one", code=2)
    machine.run("db", "export", "old.db")
    (machine.folder / "old.db-shm").write_bytes(bytes(32768))  # as readers may leave it: it holds no data
    (machine.folder / "old.db-wal").write_text("")
    machine.run("db", "export", "old.db", "--force")
    (machine.folder / "old.db-wal").write_text("changes")
    machine.refuses("db", "export", "old.db", "--force", says="old.db-wal belongs to a database that is in use", code=2)
    assert machine.database.read_bytes() == before


@pytest.mark.parametrize("arguments, says", [
    (["db", "export", "--format", "xml", "x"], "xml.*db, t4, csv"),
    (["db", "export", "x", "--m", 1, "--n", 1, "--k", 1], "--format"),
    (["db", "export", "--format", "db", "x", "--m", 1, "--n", 1, "--k", 1], "all problems"),
    (["db", "export", "--format", "t4", "x", "--m", 1], "--m, --n and --k go together"),
    (["db", "import", "x", "--m", 1], "--m, --n and --k go together"),
])
def test_wrong_use(machine, arguments, says):
    machine.refuses(*arguments, says=says, code=2)


@pytest.mark.parametrize("damage, says", [
    (lambda text: text[:-200], "cannot be imported: result 3: it is damaged JSON at line .*; nothing of it was imported"),
    (lambda text: re.sub('"kernel_time","value":[^,}]*', '"kernel_time","value":NaN', text, count=1),
     r"""result 1: it is damaged JSON at line 4, column \d+: '"value":N' \(NaN and Infinity are no JSON\); nothing"""),
    (lambda text: re.sub('"kernel_time","value":[^,}]*', '"kernel_time","value":-Infinity', text, count=1), r"'-I' \(NaN and Infinity are no JSON\)"),
    (lambda text: re.sub('"kernel_time","value":[^,}]*', '"kernel_time","value":1e999', text, count=1), "result 1: it holds '1e999', which is beyond float64; nothing"),
    (lambda text: '{"metadata":{"a":NaN},' + text[1:], "cannot be imported: it is damaged JSON at line 1, column 18: .*nothing of it"),
    (lambda text: text.replace('"tile_m":16', '"MWG":16', 1), "result 1: no kernel of Rooftile has the parameter 'MWG'"),
    (lambda text: text.replace('"m":3', '"m":0', 1), "result 1: 'm' is 0"),
    (lambda text: text.replace('"device":1', '"device":9'), "a result is of device 9"),
    (lambda text: text.replace('"uuid":"aa"', '"uuid":"\\u001b[31m"'), "which no driver reports"),
    (lambda text: '{"results": ' + "[" * 100_000, "nested more than"),
    (lambda text: '{"results": []}', "holds no result"),
    (lambda text: "{}", "no 'results' as T4 has"),
    (lambda text: "[]", "is neither a tuning database nor JSON that `rooftile db export --format t4`"),
    (lambda text: "device,kernel_ns\nllvmpipe,3\n", "is neither a tuning database nor JSON"),
])
def test_damaged_files_are_refused_and_add_nothing(machine, other, damage, says):
    t4_of(machine)
    damaged = other.folder / "damaged.json"
    text = damage((machine.folder / "out.json").read_text())
    damaged.write_text(text)
    run = other.run("db", "import", damaged, code=1)
    assert run.stdout == "" and "json.exception" not in run.stderr
    assert "damaged.json" in run.stderr and "\x1b" not in run.stderr
    assert re.search(says, run.stderr), run.stderr
    assert not other.database.exists()


def test_results_of_another_tuner_need_their_problem(machine, other):
    foreign = other.folder / "kernel_tuner.json"
    foreign.write_text(json.dumps({
        "results": [{"configuration": {"family": "naive", "tile_m": 16}, "times": {"runtimes": [0.5, 0.25, 0.75]},
                     "invalidity": "correct", "correctness": 1}],
        "schema_version": "1.0.0"}))
    run = other.run("db", "import", foreign, code=1)
    assert "result 1: it has no 'problem'" in run.stderr and "--m, --n, --k" in run.stderr
    other.run("db", "import", foreign, "--m", 7, "--n", 9, "--k", 11, "--trans-b")
    assert sql(other, "SELECT m || ' ' || n || ' ' || k || ' ' || trans_b FROM problems") == "7 9 11 t"
    assert sql(other, "SELECT kernel_ns FROM samples") == 500000
