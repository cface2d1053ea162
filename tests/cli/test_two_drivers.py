"""The program on a machine with two drivers, Mesa's lavapipe and SwiftShader."""
import contextlib
import glob
import json
import os
import re
import sqlite3
import subprocess

import numpy as np
import pytest

from conftest import Rooftile

SWIFTSHADER = os.environ["ROOFTILE_SWIFTSHADER"]
[LAVAPIPE] = glob.glob("/usr/share/vulkan/icd.d/lvp_icd*.json")
BOTH = f"{SWIFTSHADER}:{LAVAPIPE}"  # in the less favourable order for programs
SIZES = ["--m", 64, "--n", 64, "--k", 64]


def drivers(manifests):
    return {"VK_DRIVER_FILES": manifests, "VK_ICD_FILENAMES": manifests}


def plant(rooftile, manifests):
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], str(rooftile.database), "fast"], check=True,
                   env=dict(rooftile.environment, **drivers(manifests)))


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Both drivers are present. SwiftShader is really tuned; the test writes a faster device's data for lavapipe."""
    rooftile = Rooftile(tmp_path_factory.mktemp("both"))
    plant(rooftile, LAVAPIPE)
    with contextlib.closing(sqlite3.connect(rooftile.database)) as connection, connection:
        changed = connection.execute("UPDATE calibration_figures SET value = 1e5 WHERE name = 'device.fma.f32'").rowcount
    assert changed == 1, "no SwiftShader multiplies as fast as that"
    rooftile.run("--device", "SwiftShader", "calibrate", "--budget", "1s", timeout=150, **drivers(BOTH))
    # On a busy machine one run may not be enough; the next run then continues, as the message says.
    for _ in range(4):
        rooftile.tune_run = rooftile.run("--device", "SwiftShader", "tune", *SIZES, "--budget", "20s", "--candidates", 2,
                                         timeout=150, **drivers(BOTH))
        if "no certified kernel yet" not in rooftile.tune_run.stdout:
            break
    rooftile.environment.update(drivers(BOTH))
    return rooftile


def test_devices_lists_both_with_driver_and_version_the_wider_first(both):
    first, second = json.loads(both.run("devices", "--json").stdout)["devices"]
    assert first["driver"] == "llvmpipe" and first["driver_info"].startswith("Mesa ")
    assert second["driver"] == "SwiftShader driver"
    assert re.fullmatch(r"SwiftShader driver \d+\.\d+\.\d+", second["driver_info"])
    assert first["uuid"] != second["uuid"]
    assert re.search(r"^  software, SwiftShader driver \d+\.\d+\.\d+, ", both.run("devices").stdout, re.MULTILINE)


def test_tune_names_device_driver_and_version_and_finds_a_kernel(both):
    text = both.tune_run.stdout
    assert re.search(r"^tuning SwiftShader Device .* \(SwiftShader driver \d+\.\d+\.\d+\), 1 problem, ", text, re.MULTILINE), text
    assert "1 of 1 problems" in text and "no certified kernel yet" not in text, text
    assert "llvmpipe" not in text


def test_report_keeps_the_devices_apart(both):
    report = json.loads(both.run("report", "--json").stdout)
    devices = {device["driver"].split()[0]: device for device in report["devices"]}
    assert set(devices) == {"Mesa", "SwiftShader"}
    for device in devices.values():
        assert device["problems"] and device["calibration"]
    [tuned] = devices["SwiftShader"]["problems"]
    assert (tuned["m"], tuned["n"], tuned["k"]) == (64, 64, 64)
    text = both.run("report").stdout
    assert "llvmpipe" in text and "SwiftShader driver" in text
    only = both.run("--device", "SwiftShader", "report").stdout
    assert "llvmpipe" not in only and "SwiftShader driver" in only


@pytest.mark.parametrize("wanted, used", [(None, "llvmpipe"), ("llvmpipe", "llvmpipe"), ("SwiftShader", "SwiftShader")])
def test_calls_run_on_the_selected_device_else_on_the_faster_one(both, wanted, used):
    environment = {"ROOFTILE_DEVICE": wanted} if wanted else {}
    a, b = np.ones((33, 34), np.float32), np.ones((34, 35), np.float32)
    both.save(a=a, b=b)
    said = both.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "device", "--verify", **environment).stdout
    assert " device in " in said and "verified" in said
    np.testing.assert_array_equal(np.load(both.folder / "c.npy"), a @ b)
    # The pipeline cache is a file with the device's name.
    uuid = {d["name"].split()[0]: d["uuid"] for d in json.loads(both.run("devices", "--json").stdout)["devices"]}[used]
    cached = [file.name for file in both.folder.rglob(f"pipelines-{uuid}-*")]
    assert cached, list(both.folder.rglob("pipelines-*"))
    for file in both.folder.rglob("pipelines-*"):
        file.unlink()


def test_explain_answers_for_the_faster_and_for_the_selected_device(both):
    def answer(*arguments):
        return json.loads(both.run(*arguments, "explain", *SIZES, "--json").stdout)

    swiftshader, any_device = answer("--device", "SwiftShader"), answer()
    assert any_device == answer("--device", "llvmpipe")
    assert swiftshader != any_device
