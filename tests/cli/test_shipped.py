"""Databases of measured devices that lie beside the program: `devices` tells of them, `tune` begins with them."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy
import pytest

from conftest import PROGRAM, SOURCE, Rooftile, certify_until, change, needs_native_python, value

SIZES = ["--m", 64, "--n", 64, "--k", 64]  # One of the four problems of the shipped card.
ANOTHER_CARD = "UPDATE devices SET device_uuid = 'ffffffffffffffffffffffffffffffff', driver_version = driver_version + 1, name = 'Card'"


needs_plain_library = pytest.mark.skipif(bool(os.environ.get("ROOFTILE_SANITIZE")), reason="Python cannot load a sanitized library")


@pytest.fixture(scope="module")
def installed(exporter, tmp_path_factory):
    """An installed program with the database of another card of this device's product, which had another version of the driver."""
    prefix = tmp_path_factory.mktemp("installed")
    devices = prefix / "share/rooftile/devices"
    devices.mkdir(parents=True)
    (prefix / "bin").mkdir()
    shutil.copy(PROGRAM, prefix / "bin/rooftile")
    shutil.copy(exporter.folder / "tuned.db", devices / "card.db")
    change(devices / "card.db", ANOTHER_CARD)
    return prefix


@pytest.fixture
def shipped(installed, tmp_path):
    return Rooftile(tmp_path, installed / "bin/rooftile")


def own_winners(rooftile):
    return value(rooftile.database, "SELECT count(*) FROM winners WHERE device_id = (SELECT id FROM devices WHERE name <> 'Card')")


def test_devices_tells_what_was_measured_elsewhere(shipped):
    text = shipped.run("devices").stdout
    [kernels] = re.findall(r"not tuned: run `rooftile tune`, which begins with kernels that were measured elsewhere: (\d+) on Card \(", text)
    [device] = json.loads(shipped.run("devices", "--json").stdout)["devices"]
    assert device["shipped_kernels"] == int(kernels) > 0 and device["tuned_kernels"] == 0


def test_a_refresh_certifies_all_of_it_for_the_card_here(shipped):
    said = certify_until(shipped, "imported data: ", "tune", "--refresh")
    assert re.search(r"^beginning with kernels that were measured elsewhere: \d+ on Card ", said, re.MULTILINE), said
    assert re.search(r"imported data: 4 of 4 problems usable in [\d.]+ s, 1 of 1 portfolios in", said), said
    assert own_winners(shipped) > 0
    answer = json.loads(shipped.run("explain", *SIZES, "--json").stdout)
    assert answer["kernel"] != "" and answer["note"] == ""
    advice = {device["name"] == "Card": device["advice"] for device in json.loads(shipped.run("report", "--json").stdout)["devices"]}
    assert advice == {False: "", True: "it was measured on another machine; `rooftile tune` certifies its kernels for the device here"}
    text = shipped.run("report").stdout
    assert text.index("llvmpipe") < text.index("\nCard ("), "the device here comes first"
    assert "problems measured on another machine: `rooftile tune` certifies its kernels for the device here" in text.split("\nCard (")[1]


def test_a_search_begins_with_the_lists_of_its_problems(shipped):
    said = certify_until(shipped, "imported data: ", "tune", *SIZES)
    assert "3 problems and 0 portfolios of other machines are not certified yet: `rooftile tune --refresh` does that" in said
    assert re.search(r"imported data: 1 of 1 problems usable in [\d.]+ s, 1 of 1 portfolios in", said), said
    assert own_winners(shipped) > 0


def test_without_it_nothing_is_imported(shipped):
    said = shipped.run("tune", "--refresh", "--no-shipped").stdout
    assert "nothing to refresh" in said and "measured elsewhere" not in said
    assert value(shipped.database, "SELECT count(*) FROM devices") == 1


def test_another_driver_of_the_product_only_starts_the_search(shipped, installed, tmp_path):
    other = tmp_path / "prefix"
    shutil.copytree(installed, other)
    change(other / "share/rooftile/devices/card.db", "UPDATE devices SET driver_id = driver_id + 1")
    run = Rooftile(tmp_path, other / "bin/rooftile").run("tune", "--refresh")
    assert "another driver, only for a search)" in run.stdout and "nothing to refresh" in run.stdout
    assert "imported data of 4 problems is for Card" in run.stderr


@pytest.mark.parametrize("content", [b"", b"no database", "cut"])
def test_a_damaged_file_is_left_out_and_said(installed, tmp_path, content):
    prefix = tmp_path / "prefix"
    shutil.copytree(installed, prefix)
    file = prefix / "share/rooftile/devices/card.db"
    file.write_bytes(file.read_bytes()[:20000] if content == "cut" else content)
    check_left_out(Rooftile(tmp_path, prefix / "bin/rooftile"))


def test_control_characters_and_altered_schemas_are_a_strangers(installed, tmp_path):
    prefix = tmp_path / "prefix"
    shutil.copytree(installed, prefix)
    rooftile = Rooftile(tmp_path, prefix / "bin/rooftile")
    change(prefix / "share/rooftile/devices/card.db", "UPDATE devices SET name = 'Car' || char(27) || '[31md'")
    assert "on Car?[31md (" in rooftile.run("devices").stdout
    change(prefix / "share/rooftile/devices/card.db", "CREATE TRIGGER t AFTER INSERT ON devices BEGIN SELECT 1; END")
    check_left_out(rooftile)


def check_left_out(rooftile):
    run = rooftile.run("devices")
    assert "card.db should hold the data of a measured device" in run.stderr and "measured elsewhere" not in run.stdout
    run = rooftile.run("tune", "--refresh")
    assert "card.db" in run.stderr and "nothing to refresh" in run.stdout


def test_another_product_is_not_taken(installed, tmp_path):
    prefix = tmp_path / "prefix"
    shutil.copytree(installed, prefix)
    change(prefix / "share/rooftile/devices/card.db", "UPDATE devices SET product_id = product_id + 1")
    rooftile = Rooftile(tmp_path, prefix / "bin/rooftile")
    assert "measured elsewhere" not in rooftile.run("devices").stdout
    assert "measured elsewhere" not in rooftile.run("tune", "--refresh").stdout


@pytest.fixture(params=["program", pytest.param("library", marks=[needs_native_python, needs_plain_library])])
def forced_kernel(request, installed, tmp_path):
    """The kernel of a call that is forced to the device where nothing is tuned, as a program or a library tells it that is
    installed with the card's database."""
    prefix = tmp_path / "prefix"
    shutil.copytree(installed, prefix)
    rooftile = Rooftile(tmp_path, prefix / "bin/rooftile")
    rooftile.save(a=numpy.ones((64, 64), "float32"))
    library = prefix / "lib/x86_64-linux-gnu/librooftile.so.0"
    library.parent.mkdir(parents=True)
    shutil.copy(pathlib.Path(PROGRAM).parent / library.name, library)
    program = f"import rooftile, numpy\na = numpy.load('{tmp_path}/a.npy')\nassert (rooftile.Session(tier='device').matmul(a, a) == 64).all()"

    def kernel():
        environment = dict(rooftile.environment, ROOFTILE_LOG="decisions", ROOFTILE_LIBRARY=str(library), PYTHONPATH=str(SOURCE / "python"),
                           PATH=f"{prefix}/bin:{os.environ['PATH']}")
        command = ([sys.executable, "-c", program] if request.param == "library" else
                   ["rooftile", "gemm", "a.npy", "a.npy", "-o", "c.npy", "--tier", "device", "--verify"])
        run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, run.stderr
        [kernel] = re.findall(r"kernel (.*)", run.stderr)
        return kernel

    kernel.prefix = prefix
    return kernel


def test_a_forced_call_before_any_tuning_takes_what_was_measured_elsewhere(forced_kernel):
    assert not forced_kernel().startswith("naive")
    change(forced_kernel.prefix / "share/rooftile/devices/card.db",
           "UPDATE winners SET rank = 2 * (SELECT family <> 'naive' FROM candidates WHERE id = candidate_id)")
    assert forced_kernel().startswith("naive")
