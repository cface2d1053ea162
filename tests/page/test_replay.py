"""The engine as WebAssembly searches as the native one does: the same candidates for the same measurements."""
import json
import math
import pathlib
import subprocess

import pytest

from conftest import ASSETS, ENGINE_ANSWERS, WEB_TOOLS, need_assets

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parent.parent / "web" / "page"

RATES = {"device.submit": 20000, "device.dispatch": 12000, "device.fma.f32": 700, "device.level.memory.bandwidth": 40}
ADAPTER = {"features": ["subgroups"], "subgroupMinSize": 4, "subgroupMaxSize": 4, "software": True}
STARTS = [
    {"problem": {"m": 256, "n": 256, "k": 256}, "adapter": ADAPTER, "rates": RATES},
    {"problem": {"m": 1, "n": 1024, "k": 1024}, "adapter": ADAPTER, "rates": RATES},
    {"problem": {"m": 77, "n": 130, "k": 511, "trans_a": True, "batch": 3}, "rates": RATES},
    {"problem": {"m": 96, "n": 96, "k": 256, "types": "f32xq4b32"}, "rates": RATES, "strategy": "random"},
    {"problem": {"m": 256, "n": 64, "k": 300, "types": "i8_i32"}},
]


@pytest.fixture(scope="module")
def exchanges():
    need_assets()
    run = subprocess.run([WEB_TOOLS, "run", HERE / "drive_engine.mjs", ASSETS, PAGE, json.dumps(STARTS)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.fixture(scope="module")
def native(exchanges):
    requests = "".join(json.dumps(exchange["request"]) + "\n" for exchange in exchanges)
    run = subprocess.run([ENGINE_ANSWERS], input=requests, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def same(x, y):
    """Equal but for the last bits of floating-point numbers, which the two libraries of mathematics round differently."""
    if isinstance(x, float) or isinstance(y, float):
        return math.isclose(x, y, rel_tol=1e-9)
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(same(x[key], y[key]) for key in x)
    return x == y


def test_the_module_answers_as_the_native_engine_does(exchanges, native):
    assert len(exchanges) == len(native)
    for exchange, answer in zip(exchanges, native):
        assert same(exchange["answer"], answer), exchange["request"]


def test_every_search_proposes_ten_batches(exchanges):
    proposals = [exchange for exchange in exchanges if exchange["request"]["op"] == "propose"]
    assert len(proposals) == 10 * len(STARTS)
    assert all(exchange["answer"]["proposed"] for exchange in proposals)
