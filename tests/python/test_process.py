"""What the package does to a process: import, threads, forks, Ctrl-C, and machines where something is missing."""
import multiprocessing
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading

import numpy
import pytest
import rooftile as rt
from rooftile import session as session_module


def run(code, **environment):
    path = [*filter(None, [os.path.dirname(os.path.dirname(rt.__file__))])]
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": ":".join(path), **environment})


def prints(code, expected, **environment):
    done = run(code, **environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == expected


def test_import_loads_neither_numpy_nor_the_library():
    prints("import sys, rooftile; print('numpy' in sys.modules, 'librooftile' in open('/proc/self/maps').read(),"
           " [m for m in ('inspect', 'subprocess', 'json', 'pathlib') if m in sys.modules])", "False False []")


def test_without_numpy_results_are_memoryviews():
    code = """
import sys
sys.modules["numpy"] = None
import array, rooftile as rt
a = memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3))
c = rt.matmul(a, a[0:1].cast("B").cast("f", (3, 1)), alpha=2)
print(c.tolist(), c.format, rt.matmul(memoryview(bytes([1, 2])).cast("B", (1, 2)), memoryview(bytes([3, 4])).cast("B", (2, 1))).tolist())
try:
    rt.matmul(memoryview(bytes(0)), memoryview(bytes(0)).cast("B"), out=None)
except ValueError as error:
    print("ValueError")
"""
    prints(code, "[[10.0], [28.0]] f [[11]]")


@pytest.mark.parametrize("library", ["/nonexistent/librooftile.so.0", __file__, "of a wheel"])
def test_a_library_that_cannot_be_loaded_is_named(library, tmp_path):
    """By everything that needs it, each time."""
    package = pathlib.Path(rt.__file__).parent
    if library == "of a wheel":
        shutil.copytree(package, tmp_path / "rooftile", ignore=shutil.ignore_patterns("_bundle", "__pycache__"))
        package = tmp_path / "rooftile"
        library = package / "_bundle/lib/librooftile.so.0"
        library.parent.mkdir(parents=True)
        library.write_text("of another machine")
    done = run("""
import numpy as np, rooftile as rt
a = np.eye(2, dtype="f4")
for fails in (lambda: rt.matmul(a, a), lambda: rt.matmul_grouped(a, a[None], [2]), rt.Session, lambda: rt.DeviceArray(a), rt.version,
              rt.numpy_patch().__enter__, lambda: rt.matmul(a, a)):
    try:
        fails()
    except rt.Error as error:
        print(error)
""", PYTHONPATH=str(package.parent), ROOFTILE_LIBRARY="" if package.parent == tmp_path else str(library))
    messages = done.stdout.splitlines()
    assert len(messages) == 7 and all(f"{library} cannot be loaded" in message and "glibc" in message for message in messages), (
        done.stdout + done.stderr)


def test_without_a_vulkan_driver_the_host_computes():
    prints("import rooftile as rt, numpy as np\nprint(rt.matmul(np.eye(2, dtype='f4'), np.ones((2, 1), 'f4')).tolist(),"
           " rt.last_decision().tier[:4])", "[[1.0], [1.0]] host", VK_DRIVER_FILES="/nonexistent/icd.json",
           VK_ICD_FILENAMES="/nonexistent/icd.json")


def test_without_a_vulkan_loader_the_host_computes(tmp_path):
    for name in ("libvulkan.so.1", "libvulkan.so"):
        (tmp_path / name).write_text("found first, and no library")
    done = run("import rooftile as rt, numpy as np\n"
               "print(rt.matmul(np.eye(2, dtype='f4'), np.ones((2, 1), 'f4')).tolist(), rt.last_decision().tier[:4])\n"
               "try:\n  rt.DeviceArray(np.eye(2, dtype='f4'))\nexcept rt.Error as error: print(error)", LD_LIBRARY_PATH=str(tmp_path))
    assert done.stdout.startswith("[[1.0], [1.0]] host\n") and "no Vulkan loader (libvulkan.so.1)" in done.stdout, done.stdout + done.stderr


def test_unknown_words_in_the_environment_are_value_errors():
    done = run("import rooftile as rt\ntry:\n  rt.Session()\nexcept ValueError as error: print(error)", ROOFTILE_TIER="nowhere")
    assert "nowhere" in done.stdout, done.stderr


def product(seed):
    random = numpy.random.default_rng(seed)
    m, n, k = random.integers(1, 40, 3)
    a, b = random.integers(-8, 9, (m, k)).astype("f4"), random.integers(-8, 9, (k, n)).astype("f4")
    return a, b, a @ b


def wrong_products(seeds):
    """How many of these products are not the exact ones (sums of small integers)."""
    wrong = 0
    for a, b, c in map(product, seeds):
        wrong += not (numpy.array_equal(rt.matmul(a, b), c) and numpy.array_equal(rt.matmul(a, b.T.copy().T, alpha=1), c))
    return wrong


def test_threads_do_not_disturb_each_other():
    found = []
    threads = [threading.Thread(target=lambda: found.append(wrong_products(list(range(40)) * 5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [0] * 4


def test_other_threads_run_during_a_product():
    entered, done = threading.Event(), threading.Event()
    a = numpy.ones((1500, 1500), "f4")
    before = sys.getswitchinterval()

    def multiply():
        entered.set()
        rt.matmul(a, a)
        done.set()

    rt.matmul(a[:1, :1], a[:1, :1])
    # No thread is asked to give up the interpreter: the main thread goes on only if the product does so itself.
    sys.setswitchinterval(1000)
    try:
        thread = threading.Thread(target=multiply)
        thread.start()
        entered.wait()
        assert not done.is_set()
        thread.join()
    finally:
        sys.setswitchinterval(before)


def test_forked_children_compute():
    assert wrong_products(range(5)) == 0
    session, default = rt.Session(), rt.default_session()
    child = os.fork()
    if child == 0:
        right = rt.default_session() is not default and wrong_products(range(20)) == 0 and session.matmul(*product(3)[:2]).shape == product(3)[2].shape
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(wrong_products, [range(10), range(10, 20)]) == [0, 0]
    session.close()


FORKS_BESIDE_THREADS = """
import os, threading
import numpy as np, rooftile as rt
a = np.ones((70, 50), "f4")
stop = threading.Event()
def wrong():
    return int(not (rt.matmul(a, a.T) == 50).all())
def work():
    while not stop.is_set():
        wrong()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(wrong())
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
print(codes)
"""


@pytest.mark.parametrize("blas_threads", ["1", "2"])
def test_forks_while_other_threads_compute(blas_threads):
    prints(FORKS_BESIDE_THREADS, "[0, 0, 0, 0, 0]", OPENBLAS_NUM_THREADS=blas_threads)


def test_a_fork_waits_for_a_context_that_is_being_opened(monkeypatch):
    """What the thread was loading would never be there in the child."""
    order = []

    def fork():
        child = os.fork()
        if child == 0:
            os._exit(0)
        order.append("forked")
        os.waitpid(child, 0)

    class Opening:
        def __init__(self, library):
            self.library, self.forks = library, threading.Thread(target=fork)

        def __getattr__(self, name):
            return getattr(self.library, name)

        def rooftile_open(self, *arguments):
            self.forks.start()
            self.forks.join(timeout=0.3)
            order.append("opened")
            return self.library.rooftile_open(*arguments)

    opening = Opening(session_module.library())
    monkeypatch.setattr(session_module, "library", lambda: opening)
    rt.Session().close()
    opening.forks.join()
    assert order == ["opened", "forked"]


class Waiting:
    """The library, whose products wait."""

    def __init__(self, library):
        self.library, self.entered, self.may_go_on = library, threading.Semaphore(0), threading.Event()

    def __getattr__(self, name):
        return getattr(self.library, name)

    def _product(self, *_):
        self.entered.release()
        self.may_go_on.wait()
        return 0

    rooftile_gemm = _product


def test_a_fork_waits_for_the_products_of_other_threads(long_product):
    """A child would wait for ever for a lock of OpenBLAS that a product held."""
    session, a, order = rt.Session(tier="host1"), numpy.eye(2, dtype="f4"), []
    session._library = waiting = Waiting(session._library)
    product = threading.Thread(target=lambda: session.matmul(a, a, alpha=2))
    product.start()
    waiting.entered.acquire()

    def hold():
        session.hold(float("inf"))
        order.append("held")

    fork = threading.Thread(target=hold)
    fork.start()
    fork.join(timeout=0.3)
    order.append("product ends")
    waiting.may_go_on.set()
    fork.join()
    product.join()
    assert order == ["product ends", "held"]
    session.go_on()
    with long_product(session):
        session.hold(float("inf"))
        assert session._plain._known.running == 0, "the short way"
    assert session.plain()(a, a, None) is None, "left to the general way, which waits for the fork"
    session.go_on()
    assert session.plain()(a, a, None) is not None
    session.close()
    session.go_on()
    assert session._plain.multiply(a, a, None) is None, "closed"


def test_a_child_closes_a_session_that_the_parent_s_threads_are_using():
    session, a = rt.Session(), numpy.eye(2, dtype="f4")
    session._library = waiting = Waiting(session._library)
    session.plain()
    thread = threading.Thread(target=session.matmul, args=(a, a), kwargs={"alpha": 2})
    thread.start()
    waiting.entered.acquire()
    session._plain._known.running = 1  # as while a thread is in the short way
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # ends the child where it waits for the parent's threads
        session.close()
        os._exit(0)
    session._plain._known.running = 0
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    waiting.may_go_on.set()
    thread.join()
    session.close()
    assert code == 0


def test_ctrl_c_ends_a_loop_of_products_and_later_ones_are_right():
    code = """
import rooftile as rt, numpy as np
a = np.ones((300, 300), "f4")
rt.matmul(a, a)
try:
    print("started", flush=True)
    while True:
        rt.matmul(a, a)
except KeyboardInterrupt:
    print((rt.matmul(a, a) == 300).all(), flush=True)
"""
    path = os.path.dirname(os.path.dirname(rt.__file__))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": path}) as child:
        assert child.stdout.readline() == "started\n"
        child.send_signal(signal.SIGINT)
        assert child.stdout.read() == "True\n"
    assert child.returncode == 0


def test_a_product_in_a_signal_handler_does_not_disturb_the_interrupted_one():
    a, b, c = product(7)
    x, y, z = product(8)
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(numpy.array_equal(rt.matmul(a, b), c)))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        while len(seen) < 20:
            assert numpy.array_equal(rt.matmul(x, y), z) and numpy.array_equal(rt.matmul(a, b), c)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(seen)
