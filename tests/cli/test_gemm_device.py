"""rooftile gemm with kernels, against NumPy in float64."""
import os
import subprocess

import numpy as np
import pytest

from test_gemm import matrices


def test_forced_device_without_tuning_computes_on_it(rooftile):
    a, b, _ = matrices(rooftile)
    run = rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "device")
    assert "device in" in run.stdout and "run `rooftile tune`; calls compute on the host unless they force the device" in run.stderr
    np.testing.assert_allclose(np.load(rooftile.folder / "c.npy"), a @ b, rtol=1e-4)


@pytest.mark.parametrize("type_c", ["f16", "f32"])
def test_types_that_were_not_tuned_go_to_a_device_that_was(rooftile, type_c):
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], rooftile.database, "fast"], check=True)
    a, b, _ = matrices(rooftile, dtype=np.float16)
    half_a, half_b = a.astype(np.float16).astype(np.float64), b.astype(np.float16).astype(np.float64)
    said = rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "device", "--type-c", type_c, "--verify")
    assert " device " in said.stdout
    np.testing.assert_allclose(np.load(rooftile.folder / "c.npy"), half_a @ half_b, rtol=2e-3, atol=2e-3)
