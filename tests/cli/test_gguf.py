"""`rooftile gguf` on files that are written here, against a second implementation of the block formats in NumPy."""
import json
import re
import struct

import gguf_file
import numpy as np
import pytest

ROWS, COLUMNS = 3, 512
MAGNITUDES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
IQ4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)


def halves(raw, at):
    return np.ascontiguousarray(raw[:, at:at + 2]).view(np.float16).astype(np.float32)


def nibbles(raw):
    """The low ones of all bytes, then the high ones."""
    return np.concatenate([raw & 15, raw >> 4], axis=1).astype(np.int32)


def bits(raw):
    return np.unpackbits(raw, axis=1, bitorder="little").astype(np.int32)


def k_scales(raw):
    """Eight scales and eight minimums of 6 bits in twelve bytes."""
    low, high, both = raw[:, :4], raw[:, 4:8], raw[:, 8:]
    return (np.concatenate([low & 63, both & 15 | low >> 6 << 4], axis=1).astype(np.float32),
            np.concatenate([high & 63, both >> 4 | high >> 6 << 4], axis=1).astype(np.float32))


def k_values(raw, quants):
    scales, minimums = k_scales(raw[:, 4:16])
    steps, offsets = halves(raw, 0) * scales, halves(raw, 2) * minimums
    return steps[:, :, None] * quants.reshape(-1, 8, 32) - offsets[:, :, None]


def paired(raw):
    """Quants of 4 bits: two parts of 32 share 32 bytes."""
    return np.stack([raw.reshape(-1, 4, 32) & 15, raw.reshape(-1, 4, 32) >> 4], axis=2).reshape(-1, 256).astype(np.int32)


def q6_k(raw):
    low, high = raw[:, :128].reshape(-1, 2, 2, 32), raw[:, 128:192].reshape(-1, 2, 1, 32)
    fours = np.concatenate([low & 15, low >> 4], axis=2)
    twos = high >> np.array([0, 2, 4, 6], np.uint8)[None, None, :, None] & 3
    quants = (fours | twos << 4).reshape(-1, 16, 16).astype(np.int32) - 32
    scales = np.ascontiguousarray(raw[:, 192:208]).view(np.int8).astype(np.float32)
    return (halves(raw, 208) * scales)[:, :, None] * quants


def e2m1(quants):
    return np.where(quants < 8, 1, -1) * MAGNITUDES[quants & 7]


def mxfp4(raw):
    return np.ldexp(np.float32(1), raw[:, :1].astype(np.int32) - 127) * e2m1(nibbles(raw[:, 1:]))


def nvfp4(raw):
    """A scale of 4 bits of exponent and 3 of mantissa for each 16 values, which lie in 8 bytes."""
    codes = raw[:, :4].astype(np.int32)
    exponent, mantissa = codes >> 3 & 15, codes & 7
    scales = np.where(exponent == 0, mantissa * 2.0**-9, (1 + mantissa / 8) * 2.0**(exponent - 7))
    quants = nibbles(raw[:, 4:].reshape(-1, 8)).reshape(-1, 4, 16)
    return np.where(codes == 127, 0, scales)[:, :, None] * e2m1(quants)


def quarters(raw):
    """Quants of 2 bits: four parts of 32 share 32 bytes."""
    shifts = np.array([0, 2, 4, 6], np.uint8)[None, None, :, None]
    return (raw.reshape(-1, 2, 1, 32) >> shifts & 3).reshape(-1, 16, 16).astype(np.int32)


def q2_k(raw):
    scales, minimums = halves(raw, 80) * (raw[:, :16] & 15), halves(raw, 82) * (raw[:, :16] >> 4)
    return scales[:, :, None] * quarters(raw[:, 16:80]) - minimums[:, :, None]


def q3_k(raw):
    upper = bits(raw[:, :32]).reshape(-1, 32, 8).transpose(0, 2, 1).reshape(-1, 16, 16)
    low, high = raw[:, 96:104], raw[:, 104:108]
    scales = np.concatenate([low & 15, low >> 4], axis=1) | np.concatenate([high >> s & 3 for s in (0, 2, 4, 6)], axis=1) << 4
    return (halves(raw, 108) * (scales.astype(np.int32) - 32))[:, :, None] * (quarters(raw[:, 32:96]) + 4 * upper - 4)


def iq4_xs(raw):
    upper = np.ascontiguousarray(raw[:, 2:4]).view(np.uint16).astype(np.int32)
    lower = np.stack([raw[:, 4:8] & 15, raw[:, 4:8] >> 4], axis=2).reshape(-1, 8)
    scales = (lower | (upper >> 2 * np.arange(8) & 3) << 4).astype(np.int32) - 32
    return (halves(raw, 0) * scales)[:, :, None] * IQ4[nibbles(raw[:, 8:].reshape(-1, 16))].reshape(-1, 8, 32)


# Format: its number, elements and bytes of a block, places of half-precision scales, values of blocks.
FORMATS = {
    "F32": (0, 1, 4, [], lambda raw: raw.copy().view(np.float32)),
    "F16": (1, 1, 2, [0], lambda raw: halves(raw, 0)),
    "BF16": (30, 1, 2, [], lambda raw: (np.ascontiguousarray(raw).view(np.uint16).astype(np.uint32) << 16).view(np.float32)),
    "Q4_0": (2, 32, 18, [0], lambda raw: halves(raw, 0) * (nibbles(raw[:, 2:]) - 8)),
    "Q5_0": (6, 32, 22, [0], lambda raw: halves(raw, 0) * ((nibbles(raw[:, 6:]) | bits(raw[:, 2:6]) << 4) - 16)),
    "Q8_0": (8, 32, 34, [0], lambda raw: halves(raw, 0) * np.ascontiguousarray(raw[:, 2:]).view(np.int8)),
    "Q4_K": (12, 256, 144, [0, 2], lambda raw: k_values(raw, paired(raw[:, 16:]))),
    "Q5_K": (13, 256, 176, [0, 2], lambda raw: k_values(
        raw, paired(raw[:, 48:]) | bits(raw[:, 16:48]).reshape(-1, 32, 8).transpose(0, 2, 1).reshape(-1, 256) << 4)),
    "Q6_K": (14, 256, 210, [208], q6_k),
    "MXFP4": (39, 32, 17, [], mxfp4),
    "Q4_1": (3, 32, 20, [0, 2], lambda raw: halves(raw, 0) * nibbles(raw[:, 4:]) + halves(raw, 2)),
    "Q5_1": (7, 32, 24, [0, 2], lambda raw: halves(raw, 0) * (nibbles(raw[:, 8:]) | bits(raw[:, 4:8]) << 4) + halves(raw, 2)),
    "Q2_K": (10, 256, 84, [80, 82], q2_k),
    "Q3_K": (11, 256, 110, [108], q3_k),
    "IQ4_NL": (20, 32, 18, [0], lambda raw: halves(raw, 0) * IQ4[nibbles(raw[:, 2:])]),
    "IQ4_XS": (23, 256, 136, [0], iq4_xs),
    "NVFP4": (40, 64, 36, [], nvfp4),
}


def random_blocks(name):
    number, elements, size, scales, _ = FORMATS[name]
    random = np.random.default_rng(7)
    raw = random.integers(0, 256, (ROWS * COLUMNS // elements, size), dtype=np.uint8)
    for at in scales:  # Finite ones.
        raw[:, at:at + 2] = random.standard_normal(len(raw)).astype(np.float16).view(np.uint8).reshape(-1, 2)
    if name == "MXFP4":
        raw[:, 0] = random.integers(100, 150, len(raw))
    if name in ("F32", "BF16"):
        raw = (random.standard_normal(len(raw)).astype(np.float32).view(np.uint32) >> (32 - 8 * size)).astype(f"<u{size}").view(np.uint8).reshape(-1, size)
    return raw


@pytest.fixture
def model(rooftile):
    path = rooftile.folder / "model.gguf"
    blocks = {name: random_blocks(name) for name in FORMATS}
    gguf_file.write(path, [(f"w.{name}", (ROWS, COLUMNS), FORMATS[name][0], raw.tobytes()) for name, raw in blocks.items()] +
          [("w.other", (1, 256), 17, b"\0" * 74)])
    rooftile.blocks = blocks
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_values_are_those_of_a_second_implementation(rooftile, model, name):
    rooftile.run("gguf", model, "--tensor", f"w.{name}", "-o", "w.npy")
    values = np.load(rooftile.folder / "w.npy")
    assert values.dtype == np.float32 and values.shape == (ROWS, COLUMNS)
    expected = np.asarray(FORMATS[name][4](rooftile.blocks[name]), np.float64).reshape(ROWS, COLUMNS)
    # Products and differences of float32 are rounded, once or twice.
    np.testing.assert_allclose(values, expected, rtol=4e-7, atol=4e-7 * np.abs(expected).max())
    assert np.abs(values).max() > 0


def test_tensors_are_listed(rooftile, model):
    listed = rooftile.run("gguf", model).stdout
    assert "w.Q4_K" in listed and "(3, 512)" in listed and f"{len(FORMATS) + 1} tensors\n" in listed
    assert [line for line in listed.splitlines() if "w.other" in line][0].split()[-3:] == ["IQ2_XS", "not", "read"]
    tensors = json.loads(rooftile.run("gguf", model, "--json").stdout)["tensors"]
    content = model.read_bytes()
    offset = content.index(rooftile.blocks["Q6_K"].tobytes())
    assert {"name": "w.Q6_K", "format": "Q6_K", "shape": [3, 512], "bytes": 6 * 210, "offset": offset, "readable": True} in tensors


def test_a_written_tensor_is_a_matrix_of_gemm(rooftile, model):
    rooftile.run("gguf", model, "--tensor", "w.Q8_0", "-o", "w.npy")
    x = np.random.default_rng(1).standard_normal((5, COLUMNS)).astype(np.float32)
    np.save(rooftile.folder / "x.npy", x)
    rooftile.run("gemm", "x.npy", "w.npy", "--trans-b", "-o", "y.npy")
    w = np.load(rooftile.folder / "w.npy").astype(np.float64)
    np.testing.assert_allclose(np.load(rooftile.folder / "y.npy"), x @ w.T, rtol=1e-4, atol=1e-3 * np.abs(x @ w.T).max())


@pytest.mark.parametrize("name", FORMATS)
def test_a_tensor_is_the_operand_b_of_gemm(rooftile, model, name):
    x = np.random.default_rng(1).standard_normal((5, COLUMNS)).astype(np.float32)
    np.save(rooftile.folder / "x.npy", x)
    rooftile.run("gguf", model, "--tensor", f"w.{name}", "-o", "w.npy")
    rooftile.run("gemm", "x.npy", f"{model}:w.{name}", "-o", "y.npy", "--verify")
    rooftile.run("gemm", "x.npy", "w.npy", "--trans-b", "--tier", "host", "-o", "expected.npy")
    y, expected = (np.load(rooftile.folder / file) for file in ("y.npy", "expected.npy"))
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", [name for name in FORMATS if name[-2:] != "16" and name != "F32"])
def test_a_matrix_is_quantised_to_a_tensor_that_gemm_multiplies(rooftile, name, dtype):
    random = np.random.default_rng(3)
    w = random.standard_normal((COLUMNS, 3)).astype(np.float32)
    rooftile.save(w=w, x=random.standard_normal((5, COLUMNS)).astype(dtype))
    said = rooftile.run("quantize", "w.npy", "-o", "w", "--format", name.lower()).stdout
    assert f"w.gguf: weight {name.lower()} of 3 x {COLUMNS}" in said
    assert "1 tensor\n" in rooftile.run("gguf", "w.gguf").stdout
    assert float(re.search("([^ ]*) % of that of the weights", said)[1]) < {"Q8_0": 2, "Q6_K": 4, "Q3_K": 20, "Q2_K": 40}.get(name, 15)
    rooftile.run("gguf", "w.gguf", "--tensor", "weight", "-o", "back.npy")
    _, elements, size, _, values = FORMATS[name]
    content = (rooftile.folder / "w.gguf").read_bytes()
    assert len(content) % 32 == 0, "what ggml loads as a whole"
    (tensor,) = json.loads(rooftile.run("gguf", "w.gguf", "--json").stdout)["tensors"]
    blocks = np.frombuffer(content[tensor["offset"]:tensor["offset"] + tensor["bytes"]], np.uint8).reshape(-1, size)
    np.testing.assert_allclose(np.load(rooftile.folder / "back.npy"), np.asarray(values(blocks)).reshape(3, COLUMNS), rtol=1e-5, atol=1e-5)
    rooftile.run("gemm", "x.npy", "w.gguf:weight", "-o", "y.npy", "--verify")
    y = np.load(rooftile.folder / "y.npy")
    assert y.dtype == dtype
    np.testing.assert_allclose(y, np.load(rooftile.folder / "x.npy").astype(np.float32) @ np.load(rooftile.folder / "back.npy").T,
                               rtol=2e-3, atol=0.05)


# Magnitudes that a block of the format holds: half-precision scales times integers, or a power of two times 6. Beyond 63 scales no
# minimum holds a negative one.
HALF = 65504.0
LARGEST = {"Q4_0": (-8 * HALF, 8 * HALF), "Q5_0": (-16 * HALF, 16 * HALF), "Q8_0": (-127 * HALF, 127 * HALF),
           "Q4_K": (-63 * HALF, 15 * 63 * HALF), "Q5_K": (-63 * HALF, 31 * 63 * HALF),
           "Q6_K": (-127 * 32 * HALF, 127 * 32 * HALF), "MXFP4": (-6 * 2.0**125, 6 * 2.0**125),
           "Q4_1": (-HALF, 15 * HALF), "Q5_1": (-HALF, 31 * HALF), "Q2_K": (-15 * HALF, 3 * 15 * HALF),
           "Q3_K": (-31 * 4 * HALF, 31 * 4 * HALF), "IQ4_NL": (-127 * HALF, 127 * HALF), "IQ4_XS": (-31 * 127 * HALF, 31 * 127 * HALF),
           "NVFP4": (-6 * 448.0, 6 * 448.0)}


@pytest.mark.parametrize("name", LARGEST)
def test_weights_of_every_magnitude_come_back_or_are_refused(rooftile, name):
    """What is written lies within the printed error, in steps of the block's largest weight, and gemm takes it."""
    random = np.random.default_rng(5)
    ones = random.uniform(-1, 1, (256, 4))
    ones[:, 1] = -np.abs(ones[:, 1])
    ones[:, 2], ones[5, 2] = 0, -1
    ones[:, 3] = np.where(ones[:, 3] < 0, -1, 1)
    np.save(rooftile.folder / "x.npy", 2.0**-12 * random.uniform(-1, 1, (3, 256)).astype(np.float32))
    lowest, highest = LARGEST[name]
    for largest in (-lowest, highest, 1e5, 1, 1e-4, 1e-6, 1e-8, 1e-30, 1e-39, 1.4e-45):
        for sign in (1, -1):
            w = (sign * largest * ones).astype(np.float32)
            np.save(rooftile.folder / "w.npy", w)
            least, most = float(w.min()), float(w.max())  # of both signs, in one block
            if least < lowest or most > highest or most - least > (2 * highest if lowest == -highest else highest):
                rooftile.refuses("quantize", "w.npy", "-o", "none", "--format", name.lower(), says="a block of .* holds weights from .*; scale them")
                continue
            said = rooftile.run("quantize", "w.npy", "-o", "w", "--format", name.lower()).stdout
            rooftile.run("gguf", "w.gguf", "--tensor", "weight", "-o", "back.npy")
            error = np.abs(np.load(rooftile.folder / "back.npy").T.astype(np.float64) - w).max()
            assert error <= float(re.search("error: at most (.*);", said)[1]), said
            # E2M1 has nothing between 4 and 6. Half-precision scales are multiples of 2^-24, NVFP4's of 2^-9, of which elements are halves.
            assert error <= max(abs(largest) / 3, {"MXFP4": 2.0**-127, "NVFP4": 2.0**-11}.get(name, 8 * 2.0**-24))
            rooftile.run("gemm", "x.npy", "w.gguf:weight", "-o", "y.npy", "--tier", "host")
            assert np.isfinite(np.load(rooftile.folder / "y.npy")).all()
    assert not (rooftile.folder / "none.gguf").exists()


def test_finite_weights_do_not_become_infinite(rooftile):
    for name, weight in (("mxfp4", 3e38), ("mxfp4", -2.6e38), ("q6_k", 2.7e8), ("q4_k", -6e7), ("q5_k", -6e7)):
        w = np.zeros((256, 1), np.float32)
        w[7] = weight
        np.save(rooftile.folder / "w.npy", w)
        rooftile.refuses("quantize", "w.npy", "-o", "w", "--format", name,
                         says=rf"w.npy: rows 0 to \d+ of column 0 \(k x n\) have weights from .*: a block of {name} holds weights from")
    assert not (rooftile.folder / "w.gguf").exists()


def test_tensors_that_lie_elsewhere_than_ggml_puts_them_are_refused(rooftile):
    text = gguf_file.text
    for alignment, second, says in ((32, 0, "tensor b begins at byte 0 of the data instead of at 64"),
                                    (8, 64, "tensor b begins at byte 64 of the data instead of at 40")):
        head = b"GGUF" + struct.pack("<IQQ", 3, 2, 1) + text("general.alignment") + struct.pack("<II", 4, alignment)
        for name, offset in (("a", 0), ("b", second)):
            head += text(name) + struct.pack("<IQIQ", 1, 10, 0, offset)
        (rooftile.folder / "x.gguf").write_bytes(head + b"\0" * (-len(head) % 32) + bytes(128))
        for arguments in (["gguf", "x.gguf"], ["gguf", "x.gguf", "--tensor", "b", "-o", "b.npy"]):
            rooftile.refuses(*arguments, says=f"x.gguf is damaged: {says}: tensors follow each other, at multiples of {alignment}")


def test_what_no_format_holds_is_refused(rooftile):
    np.save(rooftile.folder / "w.npy", np.ones((100, 3), np.float32))
    rooftile.refuses("quantize", "w.npy", "-o", "w", "--format", "q4_k", says="has 100 rows; q4_k has blocks of 256 values")
    rooftile.refuses("quantize", "w.npy", "-o", "w", "--format", "q4_0", "--trans", says="has 3 columns; q4_0 has blocks of 32 values")
    rooftile.refuses("quantize", "w.npy", "-o", "w", "--format", "q4_0", "--bits", "4", says="--format and --bits cannot be used together", code=2)
    rooftile.refuses("quantize", "w.npy", "-o", "w", "--format", "iq3_s", says="iq3_s", code=2)
    assert not (rooftile.folder / "w.gguf").exists()


def test_a_tensor_that_cannot_be_multiplied_is_refused(rooftile, model):
    rooftile.save(x=np.zeros((2, COLUMNS), np.float32), short=np.zeros((2, COLUMNS - 1), np.float32))
    def refused(says, *arguments, code=1):
        rooftile.refuses("gemm", *arguments, "-o", "y.npy", says=says, code=code)
        assert not (rooftile.folder / "y.npy").exists()
    refused("--trans-b: a tensor of a GGUF file is n x k", "x.npy", f"{model}:w.F32", "--trans-b", code=2)
    refused("--scales: a tensor of a GGUF file has its own", "x.npy", f"{model}:w.F32", "--scales", "x.npy", code=2)
    refused(f"op.A. is 2 x {COLUMNS - 1} .*the inner sizes differ", "short.npy", f"{model}:w.F32")
    refused("IQ2_XS, which Rooftile does not read", "x.npy", f"{model}:w.other")
    refused("has no tensor 'F33'", "x.npy", f"{model}:F33", code=2)
    refused("is a GGUF file; .* `rooftile gemm A.npy .*:TENSOR` multiplies with one", "x.npy", model)
    refused("a tensor of a GGUF file is B; A is a .npy file", f"{model}:w.F32", "x.npy", code=2)
    refused("cannot open missing.gguf", "x.npy", "missing.gguf:w")
    gguf_file.write(rooftile.folder / "cube.gguf", [("cube", (2, 3, 32), 0, bytes(4 * 2 * 3 * 32))])
    refused("a matrix has two dimensions", "x.npy", "cube.gguf:cube")


def test_a_file_with_an_infinite_scale_is_a_file_with_wrong_contents(rooftile):
    raw = np.zeros((3, 2, 18), np.uint8)
    raw[1, 1, :2] = np.frombuffer(np.float16(np.inf).tobytes(), np.uint8)
    gguf_file.write(rooftile.folder / "bad.gguf", [("w", (3, 64), FORMATS["Q4_0"][0], raw.tobytes())])
    np.save(rooftile.folder / "x.npy", np.zeros((2, 64), np.float32))
    rooftile.refuses("gemm", "x.npy", "bad.gguf:w", "-o", "y.npy", code=1,
                     says="bad.gguf:w: the scale of b is not finite at block 1 of row 1")
    assert not (rooftile.folder / "y.npy").exists()


def test_a_result_does_not_replace_the_file_that_it_comes_from(rooftile, model):
    before = model.read_bytes()
    (rooftile.folder / "link.gguf").symlink_to(model)
    np.save(rooftile.folder / "x.npy", np.zeros((2, COLUMNS), np.float32))
    for name in (model, "link.gguf"):
        rooftile.refuses("gemm", "x.npy", f"{model}:w.F32", "-o", name, says="would replace the GGUF file that is read", code=2)
        rooftile.refuses("gguf", model, "--tensor", "w.F32", "-o", name, says="would replace the GGUF file that is read", code=2)
    assert model.read_bytes() == before


def test_wrong_files_and_names_are_refused(rooftile, model):
    rooftile.refuses("gguf", model, "--tensor", "Q8", "-o", "w.npy", says="no tensor .Q8.; similar: w.Q8_0", code=2)
    rooftile.refuses("gguf", model, "--tensor", "w.other", "-o", "w.npy", says="IQ2_XS, which Rooftile does not read")
    rooftile.refuses("gguf", model, "--tensor", "", "-o", "w.npy", says="no tensor ''; similar: ", code=2)
    rooftile.refuses("gguf", "missing.gguf", says="cannot open missing.gguf")
    (rooftile.folder / "cut.gguf").write_bytes(model.read_bytes()[:200])
    rooftile.refuses("gguf", "cut.gguf", says=f"cut.gguf is damaged: it is cut short: it has no room for its {len(FORMATS) + 1} tensors")
    assert not (rooftile.folder / "w.npy").exists()
    rooftile.refuses("gguf", model, "--tensor", "w.F32", says="--tensor needs --output", code=2)
    rooftile.refuses("quantize", model, "-o", "w", says="--tensor TENSOR -o W.npy` writes one as .npy")
