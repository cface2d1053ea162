"""The program on machines without a Vulkan driver or with a broken one."""
import json

import numpy as np
import pytest

@pytest.fixture(params=["path that does not exist", "library that does not exist", "manifest that is text"])
def broken(rooftile, request):
    manifest = rooftile.folder / "icd.json"
    if request.param == "library that does not exist":
        manifest.write_text(json.dumps({"file_format_version": "1.0.0",
                                        "ICD": {"library_path": "/nonexistent/driver.so", "api_version": "1.3.0"}}))
    elif request.param == "manifest that is text":
        manifest.write_text("not JSON")
    return {"VK_DRIVER_FILES": str(manifest), "VK_ICD_FILENAMES": str(manifest)}


def test_devices_says_that_there_is_none(rooftile, broken):
    run = rooftile.run("devices", **broken)
    assert "no Vulkan device" in run.stdout and "BLAS" in run.stdout
    assert json.loads(rooftile.run("devices", "--json", **broken).stdout)["devices"] == []


def test_tune_says_what_to_install(rooftile, broken):
    rooftile.refuses("tune", "--quick", says="no Vulkan device.*mesa-vulkan-drivers", **broken)
    assert not rooftile.database.exists()


def test_products_run_on_the_host(rooftile, broken):
    a, b = np.ones((5, 6), np.float32), np.ones((6, 7), np.float32)
    rooftile.save(a=a, b=b)
    assert " host" in rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--verify", **broken).stdout
    np.testing.assert_array_equal(np.load(rooftile.folder / "c.npy"), a @ b)


def test_emit_needs_no_device_for_the_minimum(rooftile, broken):
    rooftile.refuses("emit", "--family", "naive", says="--limits minimum", **broken)
    assert "family=naive" in rooftile.run("emit", "--list-space", "--limits", "minimum", **broken).stdout


def test_devices_lists_this_machines(rooftile):
    devices = json.loads(rooftile.run("devices", "--json").stdout)["devices"]
    assert devices and len({(d["uuid"], d["driver"]) for d in devices}) == len(devices)
    rooftile.refuses("--device", "no such card", "tune", "--quick", says="no such card.*rooftile devices")
