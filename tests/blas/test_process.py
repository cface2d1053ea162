"""Effects of the drop-in on its process: loaded libraries, forks, threads, unloading and faults."""
import sqlite3
import sys

import pytest

from conftest import ALTERNATIVE, BUILD, LINKED, PRELOADED, PRELUDE, REFERENCE_BLAS

ALL = pytest.mark.parametrize("path", [LINKED, ALTERNATIVE, PRELOADED], ids=["linked", "alternative", "preloaded"])


@ALL
def test_loading_brings_nothing_with_it(untuned, path):
    assert untuned.python("""
before = set(line.split()[5:][0] for line in open('/proc/self/maps') if len(line.split()) > 5)
library(sys.argv[1])
after = set(line.split()[5:][0] for line in open('/proc/self/maps') if len(line.split()) > 5)
print(*sorted(os.path.basename(name) for name in after - before))
""", path) == f"{path.resolve().name} zero", "the library, and memory that it shares with forked children"


@ALL
def test_small_products_open_no_runtime(tuned, path):
    assert tuned.python("blas = library(sys.argv[1]); square(blas, 8); print(mapped('librooftile.so', *DEVICE))",
                        path) == "[]"


@ALL
def test_products_of_the_host_open_no_device(tuned, path):
    assert tuned.python("blas = library(sys.argv[1]); square(blas, 100); print(mapped('librooftile.so', *DEVICE))",
                        path, ROOFTILE_TIER="host") == "['librooftile.so']"


def test_products_of_the_device_open_it(tuned):
    assert tuned.python("blas = library(sys.argv[1]); square(blas, 100); print(mapped(*DEVICE))",
                        LINKED) == "['libvulkan.so', 'libvulkan_']"


def test_a_program_of_any_kind_can_have_it_preloaded(untuned):
    assert untuned.run("cat", "/proc/self/maps", preload=PRELOADED).stdout.count("libopenblas") == 0


def test_linked_in_place_of_blas_and_lapack(untuned):
    assert untuned.run(BUILD / "tests" / "blas_linked").stdout == "right\n"


def test_linked_over_the_reference_blas_and_the_machines_lapack(untuned):
    assert untuned.run(BUILD / "tests" / "blas_linked", ROOFTILE_BLAS=REFERENCE_BLAS).stdout == "right\n"


def test_a_symbol_that_no_library_has(untuned):
    for name in ("liblapack.so.3", "liblapacke.so.3"):
        (untuned.home / name).touch()  # These empty files cannot be loaded, and they hide the installed libraries.
    run = untuned.run(BUILD / "tests" / "blas_linked", code=-6, stderr=None, ROOFTILE_BLAS=REFERENCE_BLAS,
                      LD_LIBRARY_PATH=untuned.home)
    assert run.stderr == (f"rooftile: the program calls dgesv_, which {REFERENCE_BLAS} does not have; name a BLAS that has "
                          "it in ROOFTILE_BLAS\n")


FORK = """
blas = library(sys.argv[1])
for turn in range(2):
    if sys.argv[2] == 'used': square(blas, 100)
    child = os.fork()
    if child == 0:
        square(blas, 100)
        print(mapped(*DEVICE))
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    square(blas, 100)
"""


def test_a_fork_of_a_process_that_used_the_device_computes_on_the_host(tuned):
    for tier in ["auto", "device"]:
        run = tuned.run(sys.executable, "-c", "import signal; signal.alarm(60)\n" + PRELUDE + FORK, LINKED, "used",
                        stderr=None, ROOFTILE_TIER=tier)
        assert len(run.stdout.splitlines()) == 2
        said = run.stderr.splitlines()
        # ROOFTILE_TIER=device forces both children to the device.
        assert len(said) == (1 if tier == "device" else 0), said
        assert all("forked" in line and line.endswith("libopenblas.so.0 computes instead") for line in said)


@pytest.mark.parametrize("path", [LINKED, PRELOADED], ids=["linked", "preloaded"])
@pytest.mark.parametrize("fault", ["newer database", "missing database", "unknown log level"])
def test_forked_children_share_one_warning(tuned, path, fault):
    environment, says = {}, "no tuning database at /none.db"
    if fault == "newer database":
        with sqlite3.connect(tuned.environment["ROOFTILE_DB"]) as database:
            database.execute("PRAGMA user_version = 9999")
        says = "Rooftile cannot be opened"
    elif fault == "missing database":
        environment["ROOFTILE_DB"] = "/none.db"
    else:
        environment, says = {"ROOFTILE_LOG": "verbose", "ROOFTILE_TIER": "host"}, "ROOFTILE_LOG is 'verbose'"
    code = PRELUDE + """
blas = library(sys.argv[1])
children = []
for _ in range(4):
    children.append(os.fork())
    if children[-1] == 0:
        square(blas, 100)
        os._exit(0)
for child in children: assert os.waitpid(child, 0)[1] == 0
"""
    said = tuned.run(sys.executable, "-c", code, path, stderr=None, **environment).stderr
    assert said.count("\n") == 1 and says in said, said


def test_a_fork_of_a_process_that_did_not_may_use_the_device(tuned):
    assert tuned.python(FORK.replace("range(2)", "range(1)"), LINKED, "unused") == "['libvulkan.so', 'libvulkan_']"


@pytest.mark.parametrize("tier", ["auto", "host1"])
def test_forked_children_keep_the_precision(tuned, tier):
    assert tuned.python("""
blas = library(sys.argv[1])
def one():  # The result is 2^24 + 1 - 2^24, which is 0 with float32 sums.
    f, at = ctypes.c_float, ctypes.byref
    a, b, c = (f * 3)(2.0**24, 1, -2.0**24), (f * 3)(1, 1, 1), f()
    n, k, alpha, beta = ctypes.c_int(1), ctypes.c_int(3), f(1), f(0)
    blas.sgemm_(b'N', b'N', at(n), at(n), at(k), at(alpha), a, at(n), b, at(k), at(beta), at(c), at(n))
    return c.value
for turn in range(2):
    child = os.fork()
    if child == 0:
        print(one(), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print(one(), flush=True)
""", LINKED, ROOFTILE_PRECISION="exact64", ROOFTILE_TIER=tier).split() == ["1.0"] * 4


def test_a_fork_amid_other_threads_products(tuned):
    tuned.python("""
import signal, threading
signal.alarm(60)
blas = library(sys.argv[1])
stop = threading.Event()
def work():
    while not stop.is_set(): square(blas, 60)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(5):
    child = os.fork()
    if child == 0:
        square(blas, 60)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads: thread.join()
""", LINKED)


@pytest.mark.parametrize("tier", ["auto", "host1"])
def test_threads_share_it_from_the_first_call_on(tuned, tier):
    assert tuned.python("""
import threading
blas, right, ready = library(sys.argv[1]), [], threading.Barrier(8)
def work(i):
    ready.wait()
    for n in (10 + i, 50 + i, 90): square(blas, n, fill=0.5 * i)
    right.append(i)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(right))
""", LINKED, ROOFTILE_TIER=tier) == "8"


def test_unloading_and_loading_again(tuned):
    assert tuned.python("""
import _ctypes
for turn in range(5):
    blas = library(sys.argv[1])
    square(blas, 100)
    _ctypes.dlclose(blas._handle)
print(len(os.listdir('/proc/self/task')) < 20, mapped(*DEVICE))
""", LINKED) == "True ['libvulkan.so', 'libvulkan_']"


@pytest.mark.parametrize("fault", ["no runtime", "newer database", "no database at all", "wrong tier", "no driver"])
def test_faults_are_reported_once_and_the_host_computes(tuned, fault):
    environment, path = {}, LINKED
    if fault == "no runtime":
        (tuned.home / "alone").mkdir()
        path = tuned.home / "alone" / LINKED.name
        path.write_bytes(LINKED.read_bytes())
        says = "librooftile.so cannot be used: librooftile.so.0: cannot open shared object file"
    elif fault == "newer database":
        with sqlite3.connect(tuned.environment["ROOFTILE_DB"]) as database:
            database.execute("PRAGMA user_version = 9999")
        says = "Rooftile cannot be opened: "
    elif fault == "no database at all":
        (tuned.home / "planted.db").write_text("no database")
        says = "Rooftile cannot be opened: "
    elif fault == "wrong tier":
        environment, says = {"ROOFTILE_TIER": "moon"}, "Rooftile cannot be opened: ROOFTILE_TIER is 'moon'; known: auto, device"
    else:
        environment = {"ROOFTILE_TIER": "device", "VK_DRIVER_FILES": "/none", "VK_ICD_FILENAMES": "/none"}
        says = "a GEMM fails: "
    code = PRELUDE + "blas = library(sys.argv[1])\nfor n in (8, 60, 100, 100): square(blas, n)"
    run = tuned.run(sys.executable, "-c", code, path, stderr=None, **environment)
    assert run.stderr.startswith(f"rooftile: {says}") and run.stderr.endswith("; libopenblas.so.0 computes instead\n")
    assert run.stderr.count("\n") == 1
    tuned.run(sys.executable, "-c", code, path, ROOFTILE_LOG="off", **environment)


def test_no_blas_at_all(untuned):
    run = untuned.run(sys.executable, "-c", PRELUDE + "square(library(sys.argv[1]), 3)", LINKED, code=-6, stderr=None,
                      ROOFTILE_BLAS="/none.so")
    assert "ROOFTILE_BLAS names a library that cannot be used" in run.stderr and "/none.so" in run.stderr


@pytest.mark.parametrize("path", [LINKED, ALTERNATIVE], ids=["linked", "alternative"])
def test_it_is_not_its_own_real_library(untuned, path):
    run = untuned.run(sys.executable, "-c", PRELUDE + "square(library(sys.argv[1]), 3)", path, code=-6, stderr=None,
                      ROOFTILE_BLAS=path)
    assert f"{path}: is Rooftile's drop-in itself" in run.stderr


def test_calls_are_counted_for_the_tuner_at_the_end_of_the_process(tuned):
    for processes in range(1, 4):
        tuned.python("blas = library(sys.argv[1])\nfor _ in range(3): square(blas, 300)", LINKED)
        with sqlite3.connect(tuned.environment["ROOFTILE_DB"]) as database:
            assert database.execute("SELECT m, n, k, calls FROM untuned_problems").fetchall() == [(300, 300, 300, 3 * processes)]


def test_products_of_one_row_or_column_are_matrix_vector_products(untuned):
    # Small ones, which do not ask the runtime, and large ones, which do; then with float64 sums.
    code = """
blas, counting, at = library(sys.argv[1]), library(os.environ['ROOFTILE_BLAS']), ctypes.byref
def product(real, letter, m, n, k):
    size, one = [ctypes.c_int(x) for x in (m, n, k)], real(1)
    a, b, c = [(real * count)(*[1] * count) for count in (m * k, k * n, m * n)]
    blas[letter + 'gemm_'](b'N', b'T', *map(at, size), at(one), a, at(size[0]), b, at(size[1]), at(one), c, at(size[0]))
    assert set(c) == {k + 1}, set(c)
    blas['cblas_' + letter + 'gemm'](101, 112, 111, m, n, k, real(2), a, m, b, n, real(0), c, n)
    assert set(c) == {2 * k}, set(c)
for m, n, k in [(1, 13, 40), (13, 1, 40), (1, 300, 500), (300, 1, 500)]:
    product(ctypes.c_float, 's', m, n, k)
    product(ctypes.c_double, 'd', m, n, k)
print([ctypes.c_int.in_dll(counting, name).value for name in ('counted_gemm', 'counted_gemv')])
"""
    for environment in ({}, {"ROOFTILE_PRECISION": "exact64"}, {"ROOFTILE_TIER": "host"}):
        assert untuned.python(code, LINKED, ROOFTILE_BLAS=BUILD / "tests" / "libcounting_blas.so", **environment) == "[0, 16]"


@pytest.mark.parametrize("core, gemm", [("SkylakeX", 1), ("sapphirerapids", 1), ("Zen", 0)])
def test_small_ones_are_matrix_products_where_openblas_has_kernels_for_them(untuned, core, gemm):
    assert untuned.python("""
blas, counting, at, real = library(sys.argv[1]), library(os.environ['ROOFTILE_BLAS']), ctypes.byref, ctypes.c_double
m, n, k, one = ctypes.c_int(90), ctypes.c_int(1), ctypes.c_int(70), real(1)
a, b, c = (real * 6300)(*[1] * 6300), (real * 70)(*[1] * 70), (real * 90)()
blas.dgemm_(b'N', b'N', at(m), at(n), at(k), at(one), a, at(m), b, at(k), at(one), c, at(m))
assert set(c) == {70}, set(c)
print([ctypes.c_int.in_dll(counting, name).value for name in ('counted_gemm', 'counted_gemv')])
""", LINKED, ROOFTILE_BLAS=BUILD / "tests" / "libcounting_blas.so", COUNTING_BLAS_CORE=core) == str([gemm, 1 - gemm])


def test_no_recursion_through_names(tuned):
    # cblas_sgemm of the reference BLAS calls sgemm_ by name, which is the drop-in's: each call is computed once.
    assert tuned.python("""
blas = library(sys.argv[1])
c = (ctypes.c_float * 10000)()
a = (ctypes.c_float * 10000)(*[1] * 10000)
f = ctypes.c_float
blas.cblas_sgemm(101, 111, 111, 100, 100, 100, f(1), a, 100, a, 100, f(1), c, 100)
print(set(c), mapped('librooftile.so'))
""", REFERENCE_BLAS, preload=PRELOADED, ROOFTILE_BLAS=REFERENCE_BLAS, ROOFTILE_TIER="host") == "{100.0} ['librooftile.so']"
