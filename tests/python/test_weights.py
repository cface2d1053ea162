"""Quantised weights, made, given in parts and read from GGUF files."""
import gguf_file
import numpy
import pytest
import rooftile as rt
from rooftile._program import run

K, N = 70, 5


@pytest.fixture(scope="module")
def weights():
    return numpy.random.default_rng(2).standard_normal((K, N)).astype("float32")


def product_is_near(x, w, quantised, relative):
    """As far off as the quantisation: the largest weight of a column has `relative` of error at most."""
    bound = numpy.abs(x).astype(float).sum(1)[:, None] * numpy.abs(w).max(0) * relative
    assert (numpy.abs(rt.matmul(x, quantised).astype(float) - x.astype(float) @ w) <= bound).all()


@pytest.mark.parametrize("bits,zero_points,dtype", [(4, "none", "float32"), (4, "packed", "float32"), (8, "float", "float32"),
                                                    (8, "none", "float16"), (4, "float", numpy.float16)])
def test_quantised_products(weights, bits, zero_points, dtype):
    x = numpy.random.default_rng(3).standard_normal((3, K)).astype(dtype)
    for w in (weights, numpy.asfortranarray(weights)):
        q = rt.quantize(w, bits=bits, block=16, zero_points=zero_points, dtype=dtype)
        assert q.shape == (K, N) and q.nbytes < weights.nbytes
        # Steps of a block's range, which is twice its largest weight at most: half a step, or a whole one with a rounded zero point.
        product_is_near(x, weights, q, 2.5 / (2**bits - 1) + 2.0**-9)
    assert rt.matmul(x, q).dtype == numpy.float32 and rt.matmul(x, q, dtype_out=dtype).dtype == dtype
    out = numpy.empty((N, 3), "float32").T  # by columns
    assert (rt.matmul(x, q, out=out) == rt.matmul(x, q)).all()
    assert rt.matmul(numpy.stack([x, x]), q).shape == (2, 3, N)
    assert rt.matmul(x[0], q).shape == (N,)


def test_packed_quantised_weights(weights):
    q = rt.quantize(weights, bits=8)
    x = numpy.ones((3, K), "float32")
    with rt.Session() as session, session.pack(q, rows=(1, 3)) as packed:
        assert packed.original is q
        assert (session.matmul(x, packed) == session.matmul(x, q)).all()


def test_parts_that_do_not_fit_are_named():
    values, scales = numpy.zeros((2, 32), "uint8"), numpy.ones((2, 2), "float32")
    good = {"values": values, "scales": scales, "k": 64, "n": 2, "bits": 4, "block": 32}
    rt.Quantized(**good)
    for change, kind, match in (
            ({"values": values[:1]}, ValueError, "values has 32 bytes; 64 are needed"),
            ({"scales": scales[:1]}, ValueError, "scales has 8 bytes; 16 are needed"),
            ({"scales": scales.astype("int32")}, TypeError, "scales is int32"),
            ({"scales": None}, ValueError, "scales are needed"),
            ({"bits": 5}, ValueError, "bits is 5"), ({"block": 24}, ValueError, "block is 24"), ({"n": 0}, ValueError, "n is 0; it is 1 or more"),
            ({"k": "64"}, TypeError, "k is '64'; it is a whole number"), ({"experts": 1.0}, TypeError, "experts is 1.0; it is a whole number"),
            ({"zero_points": scales.astype("float16")}, TypeError, "zero_points is float16"),
            ({"zero_points": numpy.zeros(3, "uint8")}, ValueError, "zero_points has 3 bytes; 2 are needed"),
            ({"format": "q8_0"}, ValueError, "leave them out"),
            ({"format": "q4_k", "scales": None}, ValueError, "values has 64 bytes; 288 are needed"), ({"format": "q9"}, ValueError, "format is 'q9'"),
            ({"values": "text"}, TypeError, "values is a str")):
        with pytest.raises(kind, match=match):
            rt.Quantized(**{**good, **change})
    q = rt.Quantized(**good)
    with pytest.raises(TypeError, match="^a is float16 and the scales of b are float32"):
        rt.matmul(numpy.ones((1, 64), "float16"), q)
    with pytest.raises(ValueError, match="^a is 1 x 63 and b is 64 x 2"):
        rt.matmul(numpy.ones((1, 63), "float32"), q)
    scales[0, 0] = numpy.nan
    with pytest.raises(ValueError, match="the scale of b is NaN"):
        rt.matmul(numpy.ones((1, 64), "float32"), q)


def test_weights_that_cannot_be_quantised(weights):
    for bad, kind, match in ((weights[0], ValueError, "1 dimensions"), (weights.astype(float), TypeError, "weights is float64"),
                             (weights[:0], ValueError, "^weights is 0 x "),
                             (weights * numpy.inf, ValueError, "^weights: the weight in row 0, column 0 .*finite")):
        with pytest.raises(kind, match=match):
            rt.quantize(bad)
    for bad in (numpy.ma.masked_array(weights, weights > 0), weights.astype(">f4")):
        with pytest.raises(TypeError, match="^weights is "):
            rt.quantize(bad)
    for name, value in (("bits", 3), ("block", 33), ("zero_points", "left"), ("format", "q9")):
        options = {name: value}
        with pytest.raises(ValueError, match=f"^{name} is {value!r}; it is "):
            rt.quantize(weights, **options)
    with pytest.raises(ValueError, match="^weights has k = 300; q4_k has blocks of 256 values along k, and only whole ones are made$"):
        rt.quantize(numpy.ones((300, 2), "float32"), format="q4_k")
    with pytest.raises(TypeError, match="^dtype is 'int8'; it is one of float32, float16$"):
        rt.quantize(weights, dtype="int8")
    for name, largest in (("q4_k", -6e7), ("mxfp4", 3e38)):
        with pytest.raises(ValueError, match=rf"^weights: rows 0 to \d+ of column 1 .*: a block of {name} holds weights from "):
            rt.quantize(numpy.full((256, 2), [1, largest], "float32"), format=name)


def test_weights_that_are_only_read_are_quantised(weights, tmp_path):
    numpy.save(tmp_path / "w.npy", weights)
    shown = weights.view()
    shown.flags.writeable = False
    x = numpy.ones((1, K), "float32")
    for w in (numpy.load(tmp_path / "w.npy", mmap_mode="r"), shown):
        assert (rt.matmul(x, rt.quantize(w)) == rt.matmul(x, rt.quantize(weights))).all()


def test_gguf_files(tmp_path, monkeypatch):
    w = numpy.random.default_rng(4).standard_normal((64, 3)).astype("float32")
    numpy.save(tmp_path / "w.npy", w)
    run("quantize", str(tmp_path / "w.npy"), "-o", str(tmp_path / "w"), "--format", "q8_0")
    file = rt.GgufFile(tmp_path / "w.gguf")
    assert list(file) == ["weight"] and file["weight"].shape == (64, 3)
    x = numpy.ones((2, 64), "float32")
    product_is_near(x, w, file["weight"], 1 / 127)
    assert (rt.matmul(x, file["weight"]) == rt.matmul(x, rt.quantize(w, format="q8_0"))).all()
    with pytest.raises(KeyError, match="w.gguf has no tensor 'wieght'; similar: weight"):
        file["wieght"]
    assert "other" not in file and file.get(3) is None
    gguf_file.write(tmp_path / "small.gguf", [("scalar", (), 0, bytes(4)), ("vector", (3,), 0, bytes(12))])
    small = rt.GgufFile(tmp_path / "small.gguf")
    assert small["scalar"].shape == (1, 1) and small["vector"].shape == (3, 1)
    (tmp_path / "w.gguf").rename(tmp_path / "--help")
    monkeypatch.chdir(tmp_path)
    assert list(rt.GgufFile("--help")) == ["weight"]
    (tmp_path / "w.gguf").write_bytes(b"GGUF")
    with pytest.raises(TypeError, match="^path is a int; it is text$"):
        rt.GgufFile(3)
    with pytest.raises(rt.Error, match="w.gguf"):
        rt.GgufFile(tmp_path / "w.gguf")


def test_tensors_multiply_whatever_their_type(tmp_path):
    w = numpy.random.default_rng(7).integers(-8, 9, (64, 3)).astype("float32")  # so that all types hold them, and sums are exact
    stored = numpy.ascontiguousarray(w.T)
    held = {"f32": (0, stored), "f16": (1, stored.astype("float16")), "bf16": (30, (stored.view("uint32") >> 16).astype("uint16"))}
    gguf_file.write(tmp_path / "w.gguf", [(name, stored.shape, code, x.tobytes()) for name, (code, x) in held.items()])
    file = rt.GgufFile(tmp_path / "w.gguf")
    x = numpy.random.default_rng(8).integers(-8, 9, (2, 64)).astype("float32")
    for name in held:
        assert file[name].shape == w.shape
        for left in (x, x.astype("float16"), rt.matmul(x, numpy.eye(64, dtype="float32"), dtype_out="bfloat16")):
            assert (rt.matmul(left, file[name], dtype_out="float32") == x @ w).all()
        for other in held:
            assert (rt.matmul(file[other].T, file[name], dtype_out="float32") == w.T @ w).all()


def test_tensors_of_three_dimensions_are_stacks(tmp_path):
    w = numpy.random.default_rng(5).integers(-127, 128, (2, 64, 3)).astype("float32")
    stored = numpy.ascontiguousarray(w.swapaxes(1, 2))  # rows of weights, as the file has them
    one = numpy.ones((len(stored.reshape(-1, 32)), 1), "float16").view("int8")  # the scale of each block
    blocks = numpy.hstack([one, stored.reshape(-1, 32).astype("int8")])
    gguf_file.write(tmp_path / "w.gguf", [("f32", stored.shape, 0, stored.tobytes()), ("q8_0", stored.shape, 8, blocks.tobytes())])
    file = rt.GgufFile(tmp_path / "w.gguf")
    assert (file["f32"] == w).all() and file["q8_0"].shape == w.shape
    x = numpy.random.default_rng(6).integers(-8, 9, (5, 64)).astype("float32")  # so that sums are exact
    for name in file:
        assert (rt.matmul_grouped(x, file[name], [2, 3], [1, 0]) == numpy.vstack([x[:2] @ w[1], x[2:] @ w[0]])).all()
