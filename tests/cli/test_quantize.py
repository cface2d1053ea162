"""`rooftile quantize` and GEMMs with its files against the definition of ONNX Runtime's MatMulNBits in NumPy."""
import re

import numpy as np
import pytest

N, K = 21, 75  # K is no multiple of a block


def weights(rooftile, trans=False, order="C"):
    w = np.random.default_rng(3).standard_normal((K, N)).astype(np.float32)
    w[:32, 4] = 0  # a block of zeros
    np.save(rooftile.folder / "w.npy", np.array(w.T if trans else w, order=order))
    return w


def load(rooftile, part):
    return np.load(rooftile.folder / f"q.{part}.npy")


def unpacked(array, bits):
    """Unpacks values of uint8 rows, the first in the low bits."""
    return array if bits == 8 else np.stack([array & 15, array >> 4], axis=-1).reshape(*array.shape[:-1], -1)


def dequantized(rooftile, bits, block, zero_points):
    """Dequantises to N x K in float64, as the operator's documentation defines it."""
    values = unpacked(load(rooftile, "values"), bits).astype(np.float64)
    n, blocks, _ = values.shape
    assert values.shape == (N, -(-K // block), block)
    scales = load(rooftile, "scales").astype(np.float64)
    assert scales.shape == (n, blocks)
    if zero_points == "none":
        zero = np.full((n, blocks), 2.0 ** (bits - 1))
    elif zero_points == "packed":
        zero = unpacked(load(rooftile, "zero_points"), bits)[:, :blocks].astype(np.float64)
    else:
        zero = load(rooftile, "zero_points").astype(np.float64)
    return ((values - zero[:, :, None]) * scales[:, :, None]).reshape(n, -1)[:, :K]


@pytest.mark.parametrize("zero_points", ["none", "packed", "float"])
@pytest.mark.parametrize("bits, block, dtype", [(4, 16, "f32"), (4, 32, "f16"), (8, 32, "f32"), (8, 256, "f16")])
def test_weights_come_back_within_half_a_step(rooftile, bits, block, dtype, zero_points):
    w = weights(rooftile)
    run = rooftile.run("quantize", "w.npy", "-o", "q", "--bits", bits, "--block", block, "--zero-points", zero_points,
                       "--type", dtype)
    assert load(rooftile, "scales").dtype == {"f32": np.float32, "f16": np.float16}[dtype]
    back = dequantized(rooftile, bits, block, zero_points)
    largest, mean, percent = map(float, re.search("error: at most (.*); root mean square (.*), (.*) % of that of the weights", run.stdout).groups())
    assert np.abs(back - w.T).max() <= largest
    error, size = (np.sqrt(np.square(x, dtype=np.float64).mean()) for x in (back - w.T, w))
    assert abs(mean - error) <= 0.005 * error and abs(percent - 100 * error / size) <= 0.5 * error / size, "three digits"
    steps = np.repeat(np.abs(load(rooftile, "scales").astype(np.float64)), block, axis=1)[:, :K]
    # The error is at most half a step, or a whole step at the ends of the range without zero points or with rounded
    # ones. float16 scales are rounded as well, which changes large values most.
    rounding = 2.0**-10 * 2**bits if dtype == "f16" else 2.0**-20 * 2**bits
    limit = (0.5 if zero_points == "float" else 1) + rounding
    assert (np.abs(back - w.T) <= limit * steps + 1e-12).all()
    assert (back[4, :16] == 0).all() or zero_points == "float"


@pytest.mark.parametrize("weight", [0.3, -0.1, 1e-7, 65504 / 3, 1e30])
@pytest.mark.parametrize("zero_points", ["none", "packed", "float"])
def test_the_printed_error_counts_what_float32_rounds(rooftile, weight, zero_points):
    """Float32 takes the product of a step and its scale for the weight itself."""
    w = np.full((K, N), weight, np.float32)
    np.save(rooftile.folder / "w.npy", w)
    said = rooftile.run("quantize", "w.npy", "-o", "q", "--zero-points", zero_points).stdout
    assert np.abs(dequantized(rooftile, 4, 32, zero_points) - w.T).max() <= float(re.search("error: at most (.*);", said)[1]), said


@pytest.mark.parametrize("order", "CF")
def test_transposed_weights_are_the_same(rooftile, order):
    weights(rooftile)
    rooftile.run("quantize", "w.npy", "-o", "q")
    expected = load(rooftile, "values")
    weights(rooftile, trans=True, order=order)
    rooftile.run("quantize", "w.npy", "-o", "q", "--trans")
    assert (load(rooftile, "values") == expected).all()


@pytest.mark.parametrize("bits, block, dtype, zero_points",
                         [(4, 32, "f32", "none"), (4, 16, "f16", "packed"), (8, 64, "f32", "float")])
def test_product_with_quantized_weights(rooftile, bits, block, dtype, zero_points):
    weights(rooftile)
    rooftile.run("quantize", "w.npy", "-o", "q", "--bits", bits, "--block", block, "--zero-points", zero_points,
                 "--type", dtype)
    x = np.random.default_rng(4).standard_normal((3, K)).astype({"f32": np.float32, "f16": np.float16}[dtype])
    np.save(rooftile.folder / "x.npy", x)
    extra = [] if zero_points == "none" else ["--zero-points", "q.zero_points.npy"]
    rooftile.run("gemm", "x.npy", "q.values.npy", "--scales", "q.scales.npy", *extra, "-o", "y.npy", "--verify")
    y = np.load(rooftile.folder / "y.npy")
    assert y.dtype == x.dtype
    b = dequantized(rooftile, bits, block, zero_points)
    expected = x.astype(np.float64) @ b.T
    assert np.abs(y - expected).max() <= (2e-5 if dtype == "f32" else 2e-2) * np.abs(expected).max()


def weights_of_every_magnitude(block, largest):
    """Returns n x k weights: blocks are zero, constant, negative, with an outlier, nearly equal or random; each row has
    a magnitude of its own, from subnormal numbers of A's type to its largest."""
    random = np.random.default_rng(5)
    magnitudes = [largest, largest / 2, 100.0, 1.0, 1e-3, 1e-7, 6e-8]
    if largest > 1e5:
        magnitudes += [1e30, 1e-30, 1e-39, 1.4e-45]
    rows = []
    for magnitude in magnitudes:
        mixed = random.uniform(-1, 1, block)
        outlier = 1e-4 * random.uniform(-1, 1, block)
        outlier[3] = -1
        blocks = [mixed, np.zeros(block), np.ones(block), -np.ones(block), -np.abs(mixed), outlier,
                  1 - 2.0**-13 * random.uniform(0, 1, block), np.where(mixed < 0, -1.0, 1.0)]
        rows.append(magnitude * np.concatenate(blocks)[:-3])  # The last block is not full.
    return np.array(rows).astype(np.float32)


@pytest.mark.parametrize("zero_points", ["none", "packed", "float"])
@pytest.mark.parametrize("block", [16, 32, 64, 128, 256])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("dtype, largest", [("f32", float(np.finfo(np.float32).max)), ("f16", 65504.0)])
def test_written_files_are_accepted(rooftile, dtype, largest, bits, block, zero_points):
    w = weights_of_every_magnitude(block, largest)
    np.save(rooftile.folder / "w.npy", w)
    rooftile.run("quantize", "w.npy", "--trans", "-o", "q", "--bits", bits, "--block", block, "--zero-points",
                 zero_points, "--type", dtype)
    # A is small, so that sums of float32's largest numbers do not overflow.
    x = 2.0**-12 * np.random.default_rng(6).uniform(-1, 1, (3, w.shape[1]))
    np.save(rooftile.folder / "x.npy", x.astype({"f32": np.float32, "f16": np.float16}[dtype]))
    extra = [] if zero_points == "none" else ["--zero-points", "q.zero_points.npy"]
    rooftile.run("gemm", "x.npy", "q.values.npy", "--scales", "q.scales.npy", *extra, "--type-c", "f32", "-o", "y.npy",
                 "--verify")
    assert np.isfinite(np.load(rooftile.folder / "y.npy")).all()


@pytest.mark.parametrize("arguments, says", [
    (["--bits", "3"], "'3' is unknown; known: 4, 8"),
    (["--bits", "0"], "bits"),
    (["--block", "48"], "'48' is unknown; known: 16"),
    (["--type", "bf16"], "A in f32 or f16"),
    (["--type", "f64"], "A in f32 or f16"),
    (["--type", "f8"], "f8.*known"),
    (["--zero-points", "some"], "some"),
])
def test_wrong_options(rooftile, arguments, says):
    weights(rooftile)
    rooftile.refuses("quantize", "w.npy", "-o", "q", *arguments, says=says, code=2)
    assert not list(rooftile.folder.glob("q.*"))


def test_a_folder_gets_no_files_without_a_name(rooftile):
    weights(rooftile)
    for arguments in ([], ["--format", "q8_0"]):
        for name in (".", "./"):
            rooftile.refuses("quantize", "w.npy", "-o", name, *arguments, says=f"cannot write {name}: it is a folder")
    assert [path.name for path in rooftile.folder.iterdir()] == ["w.npy"]


def test_the_files_are_written_together_or_not_at_all(rooftile):
    weights(rooftile)
    (rooftile.folder / "q.scales.npy").mkdir()
    (rooftile.folder / "q.values.npy").write_text("earlier")
    rooftile.refuses("quantize", "w.npy", "-o", "q", says="cannot write q.scales.npy")
    assert (rooftile.folder / "q.values.npy").read_text() == "earlier"


def test_the_weights_are_not_overwritten(rooftile):
    np.save(rooftile.folder / "q.scales.npy", np.ones((64, 3), np.float32))
    before = (rooftile.folder / "q.scales.npy").read_bytes()
    (rooftile.folder / "r.gguf").symlink_to("q.scales.npy")
    for arguments in (["-o", "q"], ["-o", "r", "--format", "q8_0"]):
        rooftile.refuses("quantize", "q.scales.npy", *arguments, says="is the file of the weights; name another prefix")
    assert (rooftile.folder / "q.scales.npy").read_bytes() == before and not (rooftile.folder / "q.values.npy").exists()


def test_unusable_weights(rooftile):
    w = weights(rooftile)
    w[7, 5] = np.nan
    np.save(rooftile.folder / "w.npy", w)
    rooftile.refuses("quantize", "w.npy", "-o", "q", says=r"w.npy: .*row 7, column 5 \(k x n\) is nan")
    np.save(rooftile.folder / "w.npy", w.T)
    rooftile.refuses("quantize", "w.npy", "--trans", "-o", "q", says=r"w.npy: .*row 7, column 5 \(k x n\) is nan")
    w[7, 5] = -65520
    np.save(rooftile.folder / "w.npy", w)
    rooftile.refuses("quantize", "w.npy", "-o", "q", "--type", "f16",
                     says=r"w.npy: .*row 7, column 5 \(k x n\) is -65520.*within 65504; use f32")
    rooftile.run("quantize", "w.npy", "-o", "r")
    np.save(rooftile.folder / "w.npy", np.zeros((0, 5), np.float32))
    rooftile.refuses("quantize", "w.npy", "-o", "q", says="empty")
    np.save(rooftile.folder / "w.npy", np.zeros(5, np.float32))
    rooftile.refuses("quantize", "w.npy", "-o", "q", says=r"two dimensions")
    assert not list(rooftile.folder.glob("q.*"))


@pytest.mark.parametrize("bits, block, k", [(8, 32, 32), (8, 128, 7), (4, 64, 30), (4, 256, 1)])
def test_one_block_that_values_of_4_and_of_8_bits_could_fill_needs_bits(rooftile, bits, block, k):
    w = np.random.default_rng(6).standard_normal((k, 5)).astype(np.float32)
    x = np.random.default_rng(7).standard_normal((2, k)).astype(np.float32)
    rooftile.save(w=w, x=x)
    rooftile.run("quantize", "w.npy", "-o", "q", "--bits", bits, "--block", block)
    product = ["x.npy", "q.values.npy", "--scales", "q.scales.npy", "-o", "y.npy"]
    rooftile.refuses("gemm", *product, says=f"q.values.npy has shape .*bits a block; say which with --bits")
    rooftile.run("gemm", *product, "--bits", bits)
    # A value is off by half a step of its block at most, which has 7 or 127 steps to its largest weight.
    bound = np.abs(x).astype(np.float64).sum(axis=1, keepdims=True) * np.abs(w).max() * {4: 1 / 7, 8: 1 / 127}[bits]
    assert (np.abs(np.load(rooftile.folder / "y.npy") - x.astype(np.float64) @ w) <= bound).all()
    rooftile.refuses("gemm", *product, "--bits", 5, says="--bits", code=2)
    rooftile.refuses("gemm", "x.npy", "w.npy", "--bits", 4, "-o", "y.npy", says="--bits needs --scales", code=2)


def test_files_that_do_not_fit_together(rooftile):
    weights(rooftile)
    rooftile.run("quantize", "w.npy", "-o", "q", "--zero-points", "packed")
    rooftile.save(x=np.zeros((3, K), np.float32), half=np.zeros((3, K), np.float16), short=np.zeros((3, 20), np.float32))
    product = ["q.values.npy", "--scales", "q.scales.npy", "-o", "y.npy"]
    rooftile.refuses("gemm", "half.npy", *product, says="scales have A's type|they have A's type")
    rooftile.refuses("gemm", "short.npy", *product, says="k = 20")
    rooftile.refuses("gemm", "x.npy", "w.npy", "--scales", "q.scales.npy", "-o", "y.npy", says="uint8 of shape")
    rooftile.refuses("gemm", "x.npy", "q.values.npy", "--scales", "x.npy", "-o", "y.npy", says="x.npy has shape")
    rooftile.refuses("gemm", "x.npy", *product, "--zero-points", "q.scales.npy", "--tier", "moon", says="moon", code=2)
    rooftile.refuses("gemm", "x.npy", *product, "--trans-b", says="--trans-b", code=2)
    rooftile.refuses("gemm", "x.npy", "q.values.npy", "-o", "y.npy", says="two dimensions.*--scales")
    rooftile.refuses("gemm", "x.npy", "w.npy", "--zero-points", "q.scales.npy", "-o", "y.npy", says="needs --scales",
                     code=2)
    assert not (rooftile.folder / "y.npy").exists()


def test_a_weight_beyond_float32_is_refused_with_what_this_command_has(rooftile):
    np.save(rooftile.folder / "w.npy", np.full((32, 2), 1e300))
    said = rooftile.refuses("quantize", "w.npy", "-o", "q", says=r"w\.npy\[0, 0\] is 1e\+300, beyond float32: scale the array$").stderr
    assert "--tier" not in said
    weights(rooftile)
    rooftile.run("quantize", "w.npy", "-o", "q")
    rows = np.load(rooftile.folder / "w.npy").shape[0]
    np.save(rooftile.folder / "x.npy", np.full((2, rows), 1e300))
    rooftile.refuses("gemm", "x.npy", "q.values.npy", "--scales", "q.scales.npy", "-o", "c.npy", says=r"x\.npy\[0, 0\].*beyond float32: scale the array")
