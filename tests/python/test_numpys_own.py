"""NumPy's own tests of matmul, with float32 in place of float64, over rt.matmul; those of the operator within numpy_patch."""
import inspect
import re

import numpy
import pytest
import rooftile as rt

try:
    from numpy._core.tests import test_multiarray as numpys
except ImportError:  # before NumPy 2
    from numpy.core.tests import test_multiarray as numpys

# docs/python.md says why these differ: objects and bool are a TypeError, and so is an out to which NumPy would cast the result.
OF_OTHER_TYPES = ("test_matmul_object", "test_matmul_object_type_scalar", "test_matmul_empty", "test_matmul_bool")
OTHER_PARTS = ("# test out with type upcast to complex", "# boolean type")
MESSAGES = {"Cannot cast ufunc .* output": "^out is int32", "non-broadcastable": "^out is 1 x 1 x 1; the result is 0 x 1 x 1"}


class Float32:
    """NumPy, but what would be float64 is float32, and matmul is ours."""

    matmul = staticmethod(rt.matmul)

    def __getattr__(self, name):
        theirs = getattr(numpy, name)
        if name not in ("arange", "array", "ones", "zeros"):
            return theirs

        def made(*arguments, **options):
            x = theirs(*arguments, **options)
            return x.astype("float32") if x.dtype == "float64" else x

        return made


def edition(*names):
    """The last of NumPy's classes of these names, over the others."""
    scope = {**vars(numpys), "np": Float32(), "float": numpy.float32}
    for name in names:
        text = inspect.getsource(getattr(numpys, name))
        for theirs, ours in MESSAGES.items():
            text = text.replace(theirs, ours)
        for other in OTHER_PARTS:
            text = re.sub(f"\n        {other}\n.*?(?=\n    def |\n    [a-z]|$)", "\n", text, flags=re.DOTALL)
        exec(text, scope)
    return scope[names[-1]]


class TestMatmul(edition("MatmulCommon", "TestMatmul")):
    types = "ff"  # the tests of values leave out the first, which is bool with them
    matmul = staticmethod(rt.matmul)


for name in OF_OTHER_TYPES:
    setattr(TestMatmul, name, None)


class TestMatmulOperator(numpys.TestMatmulOperator):
    types = "ff"

    @pytest.fixture(autouse=True)
    def patched(self):
        with rt.numpy_patch(least=0):
            yield

