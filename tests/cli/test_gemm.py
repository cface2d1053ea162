"""rooftile gemm against NumPy in float64."""
import os
import re
import subprocess

import numpy as np
import pytest

M, N, K = 37, 29, 53  # not multiples of any tile size


def error_bound(k, magnitude):
    """Bound of k float32 products summed in any order, then scaled and added: Higham's gamma of k + 3 roundings."""
    unit = 2.0**-24
    return (k + 3) * unit / (1 - (k + 3) * unit) * magnitude


def matrices(rooftile, trans_a=False, trans_b=False, order="C", dtype=np.float32):
    rng = np.random.default_rng(7)
    a, b, c = (rng.standard_normal(shape).astype(np.float32) for shape in [(M, K), (K, N), (M, N)])
    np.save(rooftile.folder / "a.npy", np.array(a.T if trans_a else a, order=order, dtype=dtype))
    rooftile.save(b=np.array(b.T if trans_b else b, order=order, dtype=dtype), c0=np.array(c, order=order, dtype=dtype))
    return a.astype(np.float64), b.astype(np.float64), c.astype(np.float64)


def expect_product(rooftile, expected, magnitude):
    c = np.load(rooftile.folder / "c.npy")
    assert c.dtype == np.float32
    assert (np.abs(c - expected) <= error_bound(K, magnitude)).all()


def test_a_precision_is_taken_and_verified(rooftile):
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], rooftile.database, "slow", "f32_half"], check=True)
    a, b, _ = matrices(rooftile)
    for precision, said in (("standard", "37x29x53 nn: device"), ("half", "37x29x53 nn f32_half: device"), ("exact64", "37x29x53 nn: host64")):
        run = rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--verify", "--precision", precision)
        assert said in run.stdout and "verified: largest error 0." in run.stdout
    # Within the bound of half, the same error is a smaller part of it.
    half, standard = (float(re.search(r"error ([\d.]+) of", rooftile.run(
        "gemm", "a.npy", "b.npy", "-o", "c.npy", "--verify", "--precision", precision).stdout).group(1)) for precision in ("half", "standard"))
    assert half < standard / 10
    rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "c.npy", "--precision", "best", says="best", code=2)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("trans_a", [False, True])
def test_transposes_and_orders(rooftile, trans_a, trans_b, order):
    a, b, _ = matrices(rooftile, trans_a, trans_b, order)
    options = ["--trans-a"] * trans_a + ["--trans-b"] * trans_b
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--verify", *options)
    expect_product(rooftile, a @ b, np.abs(a) @ np.abs(b))


@pytest.mark.parametrize("tier", ["auto", "host", "host1", "host64"])
@pytest.mark.parametrize("order", "CF")
def test_tiers_with_alpha_and_beta(rooftile, tier, order):
    a, b, c = matrices(rooftile, order=order)
    run = rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--c", "c0.npy", "--alpha", "0.75", "--beta", "-2",
                       "--tier", tier, "--verify")
    if tier != "auto":
        assert f" {tier} in " in run.stdout
    expect_product(rooftile, 0.75 * (a @ b) - 2 * c, 0.75 * (np.abs(a) @ np.abs(b)) + 2 * np.abs(c))


def test_all_devices_may_compute(rooftile):
    a, b, _ = matrices(rooftile)
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--devices", "all", "--verify")
    expect_product(rooftile, a @ b, np.abs(a) @ np.abs(b))


@pytest.mark.parametrize("tier", ["auto", "device", "host1", "host64"])
def test_float64_files_give_float64(rooftile, tier):
    a, b, c = matrices(rooftile, dtype=np.float64)
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--c", "c0.npy", "--alpha", "0.1", "--beta", "0.3", "--tier", tier, "--verify")
    result = np.load(rooftile.folder / "c.npy")
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, 0.1 * (a @ b) + 0.3 * c, rtol=0, atol=1e-13)


def test_one_float64_file_gives_float64(rooftile):
    a, b, _ = matrices(rooftile, dtype=np.float64)
    np.save(rooftile.folder / "b.npy", b.astype(np.float32))
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--verify")
    result = np.load(rooftile.folder / "c.npy")
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, a @ b.astype(np.float32).astype(np.float64), rtol=0, atol=1e-13)


def test_nan_and_infinity_propagate(rooftile):
    a, b = np.ones((4, 6), np.float32), np.ones((6, 5), np.float32)
    a[1, 2], a[2, 3], b[0, 4] = np.nan, np.inf, -np.inf
    rooftile.save(a=a, b=b)
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy")
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.load(rooftile.folder / "c.npy"), a @ b)


def test_beta_zero_does_not_read_c(rooftile):
    a, b, _ = matrices(rooftile)
    np.save(rooftile.folder / "c0.npy", np.full((M, N), np.nan, np.float32))
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--c", "c0.npy", "--beta", "0")
    expect_product(rooftile, a @ b, np.abs(a) @ np.abs(b))


def test_c_of_another_shape(rooftile):
    matrices(rooftile)
    np.save(rooftile.folder / "c0.npy", np.ones((N, M), np.float32))
    rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "c.npy", "--c", "c0.npy", "--beta", "1", says="C is 29 x 37.*37 x 29")


def test_forced_device_that_is_not_there_says_what_to_do(rooftile):
    matrices(rooftile)
    rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "device", says="rooftile tune", ROOFTILE_DETERMINISTIC="1")
    rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "device", says="mesa-vulkan-drivers", VK_DRIVER_FILES="/none")
    assert not (rooftile.folder / "c.npy").exists()


def test_first_call_is_reported_separately(rooftile):
    a, b, c = matrices(rooftile)
    for tier in ("host", "host1", "host64"):
        said = rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--c", "c0.npy", "--beta", "-2", "--tier", tier).stdout
        assert re.fullmatch(rf"37x29x53 nn: {tier} in [\d.]+ [mun]?s, [\d.]+ GFLOP/s \(median of \d+ further calls\); "
                            r"first call [\d.]+ [mun]?s\n", said), said
        # Further calls neither change the file nor start from an earlier call's result.
        expect_product(rooftile, a @ b - 2 * c, np.abs(a) @ np.abs(b) + 2 * np.abs(c))
    matrices(rooftile, dtype=np.float64)
    said = rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "host64").stdout
    assert "further calls); first call" in said


def test_environment_chooses_the_tier(rooftile):
    matrices(rooftile)
    assert " host1 in " in rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", ROOFTILE_TIER="host1").stdout
    rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "c.npy", says="moon", code=2, ROOFTILE_TIER="moon")


@pytest.mark.parametrize("order", "CF")
def test_float16_files_give_float16(rooftile, order):
    a, b, _ = matrices(rooftile, order=order, dtype=np.float16)
    half_a, half_b = a.astype(np.float16).astype(np.float64), b.astype(np.float16).astype(np.float64)
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--verify")
    c = np.load(rooftile.folder / "c.npy")
    assert c.dtype == np.float16
    np.testing.assert_allclose(c, half_a @ half_b, rtol=2e-3, atol=2e-3)
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--type-c", "f32", "--verify")
    expect_product(rooftile, half_a @ half_b, np.abs(half_a) @ np.abs(half_b))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_8_bit_files_give_exact_int32(rooftile, dtype):
    rng = np.random.default_rng(5)
    info = np.iinfo(dtype)
    a, b = (rng.integers(info.min, info.max + 1, shape).astype(dtype) for shape in [(M, 2500), (2500, N)])
    c = rng.integers(-1000, 1000, (M, N)).astype(np.int32)
    for name, x in [("a", a), ("b", b), ("c0", c)]:
        np.save(rooftile.folder / f"{name}.npy", x)
    expected = a.astype(np.int64) @ b.astype(np.int64)
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--verify")
    result = np.load(rooftile.folder / "c.npy")
    assert result.dtype == np.int32 and (result == expected).all()
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--c", "c0.npy", "--beta", "1", "--verify")
    assert (np.load(rooftile.folder / "c.npy") == expected + c).all()
    rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "d.npy", "--alpha", "0.5", says="alpha is 0.5", code=2)


def test_mixed_files_are_multiplied_in_float32(rooftile):
    a, b, _ = matrices(rooftile)
    np.save(rooftile.folder / "a.npy", a.astype(np.float16))
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--verify")
    half = a.astype(np.float16).astype(np.float64)
    expect_product(rooftile, half @ b, np.abs(half) @ np.abs(b))


def test_unsigned_bytes_are_not_taken_for_signed_ones(rooftile):
    a, b = np.full((3, 4), 200, np.uint8), np.full((4, 5), 255, np.uint8)
    rooftile.save(a=a, b=np.asfortranarray(b))
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--type-c", "f32", "--alpha", "0.5", "--verify")
    assert (np.load(rooftile.folder / "c.npy") == 4 * 200 * 255 / 2).all()
    np.save(rooftile.folder / "b.npy", np.full((4, 5), -1, np.int8))
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "c.npy", "--verify")  # mixed types are multiplied in float32
    assert (np.load(rooftile.folder / "c.npy") == np.float32(-800)).all()
    rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "d.npy", "--type-c", "u8", says="C cannot be u8", code=2)
