"""Matrix products on tuned Vulkan kernels, or on the machine's BLAS where that is faster.

>>> import numpy, rooftile as rt
>>> rt.matmul(numpy.ones((2, 3), "float32"), numpy.ones((3, 2), "float32"))
array([[3., 3.],
       [3., 3.]], dtype=float32)
"""
from ._default import default_session, explain, last_decision, matmul, matmul_grouped
from ._library import version
from .device_array import DeviceArray
from .epilogue import Epilogue
from .errors import Error, InvalidArgument, OutOfMemory
from .files import GgufFile, quantize
from .ipython import load_ipython_extension, unload_ipython_extension
from .patch import numpy_patch
from .session import Decision, Session
from .tools import Tuned, devices, report, tune
from .weights import Packed, PackedExperts, Quantized

__all__ = ["Decision", "DeviceArray", "Epilogue", "Error", "GgufFile", "InvalidArgument", "OutOfMemory", "Packed", "PackedExperts",
           "Quantized", "Session", "Tuned", "default_session", "devices", "explain", "last_decision", "load_ipython_extension", "matmul",
           "matmul_grouped", "numpy_patch", "quantize", "report", "tune", "unload_ipython_extension", "version"]
