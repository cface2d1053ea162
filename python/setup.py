"""The part of the wheel's description that depends on the build: its version, and the glibc that its libraries need."""
import os

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class Binary(Distribution):
    """Not pure Python, although ctypes needs no extension module."""

    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    """One wheel for every Python, but for one kind of machine."""

    def get_tag(self):
        return "py3", "none", f"manylinux_{os.environ['ROOFTILE_WHEEL_GLIBC'].replace('.', '_')}_x86_64"


setup(version=os.environ["ROOFTILE_WHEEL_VERSION"], distclass=Binary, cmdclass={"bdist_wheel": Wheel})
