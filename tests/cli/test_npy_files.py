"""Commands with files that NumPy writes, and with invalid files."""
import os

import numpy as np
import pytest


@pytest.fixture
def files(rooftile):
    """a.npy (3 x 4) and b.npy (4 x 5), small whole numbers, so that every sum is exact."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-9, 10, shape).astype(np.float32) for shape in [(3, 4), (4, 5)])
    rooftile.save(a=a, b=b)
    return a, b


def product(rooftile, a="a.npy", b="b.npy"):
    rooftile.run("gemm", a, b, "-o", "c.npy", "--tier", "host")
    return np.load(rooftile.folder / "c.npy")


@pytest.mark.parametrize("stored", ["<f4", ">f4", "<f8", ">f8"])
@pytest.mark.parametrize("order", "CF")
def test_types_byte_and_index_orders(rooftile, files, stored, order):
    a, b = files
    np.save(rooftile.folder / "a.npy", np.array(a, dtype=stored, order=order))
    c = product(rooftile)
    assert c.dtype == np.dtype("<" + stored[1:]) and c.flags.c_contiguous
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_format_versions(rooftile, files, version):
    a, b = files
    with open(rooftile.folder / "a.npy", "wb") as file:
        np.lib.format.write_array(file, a, version=version)
    np.testing.assert_array_equal(product(rooftile), a @ b)


def test_result_has_the_bytes_that_numpy_writes(rooftile, files):
    a, b = files
    product(rooftile)
    np.save(rooftile.folder / "expected.npy", a @ b)
    assert (rooftile.folder / "c.npy").read_bytes() == (rooftile.folder / "expected.npy").read_bytes()


@pytest.mark.parametrize("shape_a, shape_b", [((0, 4), (4, 5)), ((3, 0), (0, 5)), ((3, 4), (4, 0)), ((0, 0), (0, 0))])
def test_empty_matrices(rooftile, shape_a, shape_b):
    a, b = np.ones(shape_a, np.float32), np.ones(shape_b, np.float32)
    rooftile.save(a=a, b=b)
    c = product(rooftile)
    assert c.shape == (shape_a[0], shape_b[1]) and not c.any()


def text_file(path):
    path.write_text("1 2 3\n4 5 6\n")


def empty_file(path):
    path.touch()


def cut_in_the_header(path):
    np.save(path, np.ones((3, 4), np.float32))
    os.truncate(path, 40)


def cut_in_the_data(path):
    np.save(path, np.ones((3, 4), np.float32))
    os.truncate(path, path.stat().st_size - 1)


def bytes_after_the_data(path):
    np.save(path, np.ones((3, 4), np.float32))
    with open(path, "ab") as file:
        file.write(b"x")


def integers(path):
    np.save(path, np.ones((3, 4), np.int32))


def long_integers(path):
    np.save(path, np.ones((3, 4), np.int64))


def records(path):
    np.save(path, np.zeros((3, 4), dtype=[("x", "<f4"), ("y", "<f4")]))


def objects(path):
    np.save(path, np.array([[None] * 4] * 3, dtype=object), allow_pickle=True)


def vector(path):
    np.save(path, np.ones(4, np.float32))


def three_dimensions(path):
    np.save(path, np.ones((3, 4, 1), np.float32))


def future_version(path):
    np.save(path, np.ones((3, 4), np.float32))
    data = bytearray(path.read_bytes())
    data[6] = 9
    path.write_bytes(data)


def negative_shape(path):
    with_header(path, "{'descr': '<f4', 'fortran_order': False, 'shape': (-3, 4), }")


def code_in_the_header(path):
    with_header(path, "{'descr': '<f4', 'fortran_order': False, 'shape': (__import__('os').getpid(), 4), }")


def endless_shape(path):
    with_header(path, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }")


def other_inner_size(path):
    np.save(path, np.ones((3, 7), np.float32))


def folder(path):
    path.mkdir()


def pipe(path):
    os.mkfifo(path)


def with_header(path, header):
    text = header.encode().ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(48))


def missing(path):
    pass


BAD_FILES = {
    text_file: "not a .npy file", empty_file: "empty", missing: "No such file", folder: "folder", pipe: "regular file",
    cut_in_the_header: "cut short", cut_in_the_data: "cut short.*48 bytes", bytes_after_the_data: "1 bytes after",
    integers: "int32: floats, int8 and uint8.*astype", long_integers: "'<i8'.*astype", records: "structured", objects: "'.O'", vector: r"\(4,\)", three_dimensions: r"\(3, 4, 1\)",
    future_version: "version 9.0", negative_shape: "whole numbers", code_in_the_header: "whole numbers",
    endless_shape: "2.63 bytes", other_inner_size: "3 x 7.*4 x 5",
}


@pytest.mark.parametrize("make", BAD_FILES, ids=lambda make: make.__name__)
def test_bad_file_is_named_and_the_old_result_stays(rooftile, files, make):
    np.save(rooftile.folder / "c.npy", np.ones(3))
    before = (rooftile.folder / "c.npy").read_bytes()
    (rooftile.folder / "a.npy").unlink()
    make(rooftile.folder / "a.npy")
    rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "c.npy", "--tier", "host", says=rf"a\.npy.*({BAD_FILES[make]})"
                     if make is not other_inner_size else BAD_FILES[make])
    assert (rooftile.folder / "c.npy").read_bytes() == before
    assert not list(rooftile.folder.glob(".c.npy*"))


def test_larger_than_memory(rooftile):
    """Creates sparse files that are larger than the memory."""
    side = 1 << 20
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({side}, {side}), }}"
    with_header(rooftile.folder / "a.npy", header)
    os.truncate(rooftile.folder / "a.npy", 128 + 4 * side * side)
    rooftile.refuses("gemm", "a.npy", "a.npy", "-o", "c.npy", says="GB of memory are available")
    assert not (rooftile.folder / "c.npy").exists()


def test_result_larger_than_memory_from_empty_operands(rooftile):
    for name, shape in [("a.npy", (1 << 40, 0)), ("b.npy", (0, 1 << 40))]:
        with_header(rooftile.folder / name, f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}")
        os.truncate(rooftile.folder / name, 128)
    rooftile.refuses("gemm", "a.npy", "b.npy", "-o", "c.npy", says="memory")


@pytest.mark.parametrize("output, says", [("no/c.npy", "no/c.npy.*No such file"), (".", "folder"),
                                          ("/dev/full", "No space left"), ("a.npy/c.npy", "Not a directory")])
def test_unwritable_output(rooftile, files, output, says):
    rooftile.refuses("gemm", "a.npy", "b.npy", "-o", output, "--tier", "host", says=says)


def test_output_may_be_an_input(rooftile, files):
    a, b = files
    rooftile.run("gemm", "a.npy", "b.npy", "-o", "a.npy", "--tier", "host")
    np.testing.assert_array_equal(np.load(rooftile.folder / "a.npy"), a @ b)


def test_output_may_be_a_pipe(rooftile, files):
    a, b = files
    run = rooftile.run("gemm", "a.npy", "b.npy", "-o", "/dev/null", "--tier", "host")
    assert "GFLOP/s" in run.stdout
