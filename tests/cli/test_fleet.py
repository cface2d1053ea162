"""`db import --certify` and `tune --refresh` make one machine's data usable on an equal machine, on the real device."""
import json
import os
import re
import signal
import subprocess

import pytest

from conftest import Rooftile, certify_until, change, value

# The exporter has tuned this size with every pair of transposes, and has not tuned 33 x 35 x 37.
TUNED = [["--m", 64, "--n", 64, "--k", 64, *transposes] for transposes in ([], ["--trans-a"], ["--trans-b"],
                                                                           ["--trans-a", "--trans-b"])]
UNTUNED = [["--m", 33, "--n", 35, "--k", 37], ["--m", 500, "--n", 20, "--k", 96], ["--m", 1, "--n", 300, "--k", 200, "--trans-b"]]


def explain(rooftile, arguments):
    answer = json.loads(rooftile.run("explain", *arguments, "--json").stdout)
    return {field: answer[field] for field in ("tier", "kernel", "veto_name", "note")}


@pytest.fixture(scope="module")
def importer(exporter, tmp_path_factory):
    rooftile = Rooftile(tmp_path_factory.mktemp("importer"))
    rooftile.said = certify_until(rooftile, "imported data: ", "db", "import", exporter.folder / "tuned.db", "--certify")
    return rooftile


def test_an_equal_machine_chooses_as_the_exporter(exporter, importer):
    assert re.search(r"imported data: 4 of 4 problems usable in [\d.]+ s, 1 of 1 portfolios in", importer.said), importer.said
    for arguments in (*TUNED, *UNTUNED):
        here = explain(importer, arguments)
        assert here == explain(exporter, arguments), (arguments, importer.said)
        assert here["tier"] == "device" and here["kernel"] != ""
    kernels = {explain(importer, arguments)["kernel"] for arguments in UNTUNED}
    assert len(kernels) > 1, "the portfolio chooses by size"


def test_every_kernel_was_certified_and_timed_here(importer):
    assert value(importer.database, "SELECT count(*) FROM certificates WHERE verdict = 'passed'") == 8
    assert value(importer.database, "SELECT count(*) FROM runs WHERE origin_id IS NULL") == 1
    assert value(importer.database, "SELECT count(*) FROM winners WHERE kernel_ns = 100000") == 0, "the injected time"
    assert value(importer.database, "SELECT count(*) FROM samples WHERE purpose = 'refresh'") >= 8
    assert "sound" in importer.run("db", "check").stdout


def test_the_host_answers_until_it_is_certified_and_the_note_says_how(exporter, rooftile):
    said = rooftile.run("db", "import", exporter.folder / "tuned.db").stdout
    assert "4 kernels of portfolios" not in said and "2 kernels of portfolios" in said
    assert "before it is certified here: `rooftile tune --refresh`" in said
    answer = explain(rooftile, TUNED[0])
    assert answer["tier"].startswith("host")
    assert "imported but are not certified on this machine; run `rooftile tune --refresh`" in answer["note"]
    advice = answer["note"].split(": ", 1)[1]
    assert f"no certified kernel yet: {advice}\n" in rooftile.run("report").stdout
    assert advice in [device["advice"] for device in json.loads(rooftile.run("report", "--json").stdout)["devices"]]
    certify_until(rooftile, "imported data: ", "tune", "--refresh")
    assert explain(rooftile, TUNED[0])["tier"] == "device"
    assert json.loads(rooftile.run("report", "--json").stdout)["devices"][0]["advice"] == ""


def test_another_driver_only_starts_the_search(exporter, rooftile):
    change_of_driver = exporter.folder / "other.db"
    exporter.run("db", "export", change_of_driver)
    change(change_of_driver, "UPDATE devices SET driver_id = driver_id + 1, driver_info = 'Other 1.0'")
    run = rooftile.run("db", "import", change_of_driver, "--certify")
    assert "imported data of 4 problems is for" in run.stderr and "Other 1.0" in run.stderr
    assert "`rooftile tune` only starts its search from them" in run.stderr
    assert "nothing to refresh" in run.stdout
    assert value(rooftile.database, "SELECT count(*) FROM winners") == 0


def test_what_was_merged_is_certified_too(exporter, importer, rooftile):
    rooftile.run("db", "merge", "fleet.db", exporter.folder / "tuned.db", importer.database)
    said = certify_until(rooftile, "imported data: ", "db", "import", "fleet.db", "--certify")
    assert re.search(r"imported data: 4 of 4 problems usable in [\d.]+ s, 1 of 1 portfolios in", said), said
    assert explain(rooftile, UNTUNED[0]) == explain(exporter, UNTUNED[0]), said


@pytest.mark.parametrize("arguments, says", [(["--budget", "1m"], "certify"), (["--certify", "--budget", "soon"], "--budget is 'soon'")])
def test_wrong_usage(exporter, rooftile, arguments, says):
    rooftile.refuses("db", "import", exporter.folder / "tuned.db", *arguments, says=says, code=2)
    assert not rooftile.database.exists()
