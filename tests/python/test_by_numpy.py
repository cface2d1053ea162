"""A wheel whose library cannot be loaded, as on a machine with another libc: NumPy computes, and exceptions name the cause."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import rooftile as rt

HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs Python with such a wheel."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(pathlib.Path(rt.__file__).parent, site / "rooftile", ignore=shutil.ignore_patterns("_bundle", "__pycache__"))
    (site / "rooftile/_bundle/lib").mkdir(parents=True)
    (site / "rooftile/_bundle/lib/librooftile.so.0").write_text("of another machine")
    inherited = {name: value for name, value in os.environ.items() if name not in ("ROOFTILE_LIBRARY", "ROOFTILE_PROGRAM")}

    def run(*arguments, **more):
        return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=100, cwd=site,
                              env={**inherited, "PYTHONPATH": str(site), "ROOFTILE_INSTALLED": "1", **more})

    return run


def prints(done, expected):
    assert done.returncode == 0 and done.stdout == expected, done.stdout + done.stderr


@pytest.mark.parametrize("file,chosen", [("test_matmul.py", ""), ("test_grouped.py", "not device and not quantised and not stacks")])
def test_the_tests_of_products_pass(run, file, chosen):
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / file), *(["-k", chosen] if chosen else []))
    assert done.returncode == 0 and " passed" in done.stdout and "because" in done.stdout, done.stdout + done.stderr


def test_the_cause_is_told_once_and_by_every_exception(run):
    done = run("-c", """
import numpy as np, rooftile as rt, warnings
a = np.eye(2, dtype="f4")
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    rt.matmul(a, a), rt.matmul(a, a)
    with rt.numpy_patch() as patch:
        assert (a @ a == a).all() and patch.products == 0
    print(len(told), told[0].category.__name__, told[0].filename, "librooftile.so.0 cannot be loaded" in str(told[0].message))
w = rt.Quantized(bytes(34), k=32, n=1, format="q8_0")
for fails in (rt.Session, rt.last_decision, lambda: rt.explain(a, a), lambda: rt.DeviceArray(a), lambda: rt.matmul(np.ones((1, 32), "f4"), w),
              lambda: rt.matmul(a, a, tier="device"), rt.version):
    try:
        fails()
    except rt.Error as error:
        print("librooftile.so.0 cannot be loaded" in str(error) and "glibc" in str(error), end=" ")
""")
    prints(done, "1 RuntimeWarning <string> True\n" + "True " * 7)


def test_what_the_library_refuses_is_refused(run):
    done = run("-W", "ignore", "-c", """
import numpy as np, rooftile as rt
f, i = np.ones((2, 2), "f4"), np.ones((2, 2), "i1")
long, bias = np.ones((1, 33026), "u1"), np.ones(2, "f4")
for a, b, options in ((i, i, {"alpha": 2}), (i, i, {"bias": bias}), (long, long.T, {}),
                      (f, f, {"kappa": -1}), (f, f, {"out": f})):
    try:
        rt.matmul(a, b, **options)
        print("computed")
    except rt.InvalidArgument as error:
        print(str(error).split(";")[0])
""")
    prints(done, """alpha is 2.0
an int32 result has no epilogue
k is 33026
kappa is -1.0
out overlaps a, b or the epilogue's operands
""")


def test_without_numpy_the_cause_is_told(run):
    done = run("-c", """
import sys
sys.modules["numpy"] = None
import rooftile as rt
a = memoryview(bytes(16)).cast("f", (2, 2))
try:
    rt.matmul(a, a, out=memoryview(bytearray(16)).cast("f", (2, 2)))
except rt.Error as error:
    print("librooftile.so.0 cannot be loaded" in str(error))
""")
    prints(done, "True\n")


def test_precisions_above_standard_are_float64(run):
    """The square of 1 + 2^-12 has 25 bits, of which float32 keeps 24."""
    done = run("-W", "ignore", "-c", """
import numpy as np, rooftile as rt
a, c = np.full((1, 1), 1 + 2.0**-12, "f4"), -np.ones((1, 1), "f4")
print([float(rt.matmul(a, a, c=c, **o)[0, 0]) == 2.0**-11 + 2.0**-24
       for o in ({"precision": "high"}, {"precision": "exact64"}, {"tier": "host64"}, {"kappa": 1e4}, {}, {"precision": "standard"})])
""")
    prints(done, "[True, True, True, True, False, False]\n")


def test_bfloat16_is_rounded_to_the_nearest_and_ties_to_even(run):
    done = run("-W", "ignore", "-c", """
import numpy as np, rooftile as rt
values = np.array([[1 + 2.0**-7, 1 + 2.0**-8, 1 + 2.0**-7 + 2.0**-8, 1 + 2.0**-8 + 2.0**-20, -np.inf, np.nan]], "f4").T
print(*(hex(x) for x in rt.matmul(values, np.ones((1, 1), "f4"), dtype_out="bfloat16").ravel().tolist()))
""")
    prints(done, "0x3f81 0x3f80 0x3f82 0x3f81 0xff80 0x7fc0\n")
