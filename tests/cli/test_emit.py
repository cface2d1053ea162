"""`rooftile emit` prints kernels and lists of kernels for the given options, and refuses illegal ones."""
import json
import re

import pytest

MINIMUM = ["emit", "--limits", "minimum"]
FAMILIES = ["naive", "register", "tiled", "broadcast", "vector", "batched_small"]


def space(rooftile, *options):
    """Returns the listed kernels as dictionaries."""
    lines = rooftile.run(*MINIMUM, "--list-space", *options).stdout.splitlines()
    assert len(lines) == len(set(lines))
    return [dict(setting.split("=") for setting in line.split()) for line in lines]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_alone_has_a_legal_kernel(rooftile, family):
    text = rooftile.run(*MINIMUM, "--family", family).stdout
    assert "void main()" in text and f"family={family} " in text


def test_matrix_needs_matrix_units(rooftile):
    rooftile.refuses(*MINIMUM, "--family", "matrix", says="illegal here: the device has no matrix units")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_kernels_for_types_and_epilogues(rooftile, family):
    text = rooftile.run(*MINIMUM, "--family", family, "--type", "f16xq4b32z_f16", "--epilogue", "bias_column+relu").stdout
    assert "narrow_c" in text and "Epilogue: bias_column+relu." in text


def test_given_parameters_stay_and_the_others_follow(rooftile):
    text = rooftile.run(*MINIMUM, "--family", "tiled", "--tile_m", 16, "--tile_k", 32, "--reg_n", 8).stdout
    assert "tile_m=16 " in text and "tile_k=32 " in text and "reg_n=8 " in text
    text = rooftile.run(*MINIMUM, "--variant", "family=tiled tile_m=16 stages=2", "--stages", 1).stdout
    assert "tile_m=16 " in text and "stages=1 " in text


def test_says_why_the_tuner_leaves_a_kernel_out(rooftile):
    said = rooftile.run(*MINIMUM, "--family", "tiled", "--trans-b", "--shared_pad", 8).stderr
    assert said.startswith("rooftile: the tuner does not try this kernel: shared_pad=4 needs less shared memory and has fewer bank conflicts")
    assert rooftile.run(*MINIMUM, "--family", "tiled", "--trans-b", "--shared_pad", 4).stderr == ""


def test_without_a_family_the_kernel_is_that_of_the_untuned_device(rooftile):
    def family(*options):
        return re.search(r"family=(\w+) ", rooftile.run("emit", *options).stdout).group(1)

    sizes = {"row": (1, 4096, 4096), "small": (64, 64, 64), "large": (1024, 1024, 1024)}
    options = {kind: ["--m", m, "--n", n, "--k", k] for kind, (m, n, k) in sizes.items()}
    assert {kind: family(*given) for kind, given in options.items()} == {"row": "vector", "small": "register", "large": "broadcast"}
    assert family() == "broadcast"
    assert family("--limits", "minimum") == "tiled"
    batch = ["--m", 16, "--n", 16, "--k", 16, "--batch", 500]
    assert family(*batch) == "batched_small"
    # It is the first kernel that inspect lists for the problem on an untuned device.
    untuned = json.loads(rooftile.run("inspect", "--json", "--ranked", *options["row"]).stdout)["kernels"][0]
    assert untuned["kernel"] in rooftile.run("emit", *options["row"]).stdout
    assert untuned["origin"].startswith("untuned: ")
    # Given parameters stay.
    assert "unroll_k=8 " in rooftile.run("emit", *options["row"], "--unroll_k", 8).stdout


def test_list_holds_only_kernels_for_the_options(rooftile):
    everything = space(rooftile)
    assert len(everything) > 200
    assert {kernel["family"] for kernel in everything} == set(FAMILIES) - {"broadcast"}  # broadcast needs subgroups
    vectors = space(rooftile, "--family", "vector", "--vector_width_b", 4)
    assert 0 < len(vectors) < len(everything)
    assert all(kernel["family"] == "vector" and kernel["vector_width_b"] == "4" for kernel in vectors)
    # Kernels read a quantised B in words of 8 values.
    quantized = space(rooftile, "--type", "f32xq4b32", "--family", "vector")
    assert 0 < len(quantized) < len(space(rooftile, "--family", "vector"))
    assert all(int(kernel["unroll_k"]) % 8 == 0 for kernel in quantized)
    # Each line of a list describes one kernel.
    line = " ".join(f"{name}={value}" for name, value in vectors[3].items())
    assert space(rooftile, "--variant", line) == [vectors[3]]


def test_list_follows_the_sizes(rooftile):
    exact = ["--edge", "exact"]
    assert space(rooftile, *exact)
    assert space(rooftile, *exact, "--m", 512, "--n", 512, "--k", 512)
    rooftile.refuses(*MINIMUM, "--list-space", *exact, "--m", 513, "--n", 512, "--k", 512, says="no such kernel")
    one = space(rooftile, "--m", 64, "--n", 64, "--k", 64)
    assert all(kernel["tile_batch"] == "1" for kernel in one)
    batch = space(rooftile, "--m", 64, "--n", 64, "--k", 64, "--batch", 8)
    assert any(kernel["tile_batch"] != "1" for kernel in batch)


def test_list_follows_the_limits(rooftile):
    assert all(kernel["load_path_a"] == "buffer" for kernel in space(rooftile))
    device = json.loads(rooftile.run("devices", "--json").stdout)["devices"][0]
    assert "load_path_a=texel" in rooftile.run("emit", "--list-space", "--device", device["uuid"]).stdout
    assert rooftile.run("emit", "--list-space", "--type", "i8_i32", "--trans-b", "--dot", 4).stdout
    # Without packed operands, packed dot products need A and B contiguous along k.
    packed = rooftile.run("emit", "--list-space", "--type", "i8_i32", "--dot", 4).stdout.splitlines()
    assert packed and all("packed_b=yes" in line for line in packed)


@pytest.mark.parametrize("options, says", [
    (["--type", "f16_sum_f16"], "minimum tries no such kernel: the device has no 16-bit arithmetic for sums in f16"),
    (["--family", "matrix"], "minimum tries no such kernel: the device has no matrix units"),
    (["--family", "naive", "--tile_m", "7"], "minimum tries no such kernel: its space has other values"),
])
def test_an_empty_list_says_so(rooftile, options, says):
    rooftile.refuses(*MINIMUM, "--list-space", *options, says=says)


@pytest.mark.parametrize("options, says", [
    (["--dot", "4"], "no packed dot products"),
    (["--type", "f16_sum_f16"], "16-bit arithmetic"),
    (["--split_k", "2", "--reduction", "atomic"], "adds float32"),
    (["--tile_m", "256", "--tile_n", "256"], "invocations.* of 128"),
    (["--reg_m", "3"], "reg_m must divide tile_m"),
    (["--edge", "exact", "--m", "9", "--n", "32", "--k", "8"], "edge exact needs"),
])
def test_the_rule_that_forbids_is_named(rooftile, options, says):
    rooftile.refuses(*MINIMUM, "--family", "register", *options, says=f"illegal here: .*{says}")


@pytest.mark.parametrize("options, says", [
    (["--family", "magic"], "magic.*naive"),
    (["--tile_m", "many"], "tile_m.*many"),
    (["--tile_m", ""], "tile_m: the value is empty"),
    (["--variant", ""], "variant: the value is empty"),
    (["--variant", "tile_q=3"], "tile_q"),
    (["--variant", "tiled"], "parameter=value"),
    (["--variant", "family=tiled family=naive"], "family=tiled and family=naive"),
    (["--list-space", "--family", "magic"], "magic.*naive"),
    (["--list-space", "--pack", "a"], "--list-space.*--pack|--pack.*--list-space"),
    (["--list-space", "--spirv", "k.spv"], "--list-space.*--spirv|--spirv.*--list-space"),
    (["--type", "i8_i32", "--epilogue", "relu"], "int32 result has no epilogue"),
    (["--list-space", "--type", "i8_i32", "--epilogue", "relu"], "int32 result has no epilogue"),
    (["--type", "f99"], "written as f32"),
    (["--epilogue", "relux"], "relux.*gelu_erf"),
    (["--m", "5"], "--m, --n and --k go together"),
    (["--batch", "5"], "--batch needs"),
    (["--groups", "5"], "--groups needs --m as well"),
    (["--pack", "a"], "operand A.*not packed"),
    (["--pack", "c"], "c"),
    (["--device", "llvmpipe"], "--limits minimum.*--device llvmpipe"),
])
def test_wrong_use(rooftile, options, says):
    rooftile.refuses(*MINIMUM, *options, says=says, code=2)
    assert not list(rooftile.folder.glob("*.spv"))


def test_unknown_limits_and_devices(rooftile):
    rooftile.refuses("emit", "--limits", "maximum", says="maximum", code=2)
    # The exit code is the same as in every command with --device.
    code = rooftile.run("tune", "--device", "moon", code=1).returncode
    rooftile.refuses("emit", "--device", "moon", says="moon", code=code)


def test_kernels_of_the_list_are_emitted(rooftile):
    lines = rooftile.run(*MINIMUM, "--list-space").stdout.splitlines()
    for line in lines[:: len(lines) // 7]:
        text = rooftile.run(*MINIMUM, "--variant", line).stdout
        assert "void main()" in text and line in text


def test_glsl_spirv_and_packing(rooftile):
    naive = ["--variant", "family=naive tile_m=4 tile_n=8"]
    assert "void main()" in rooftile.run(*MINIMUM, *naive).stdout
    rooftile.run(*MINIMUM, *naive, "--spirv", "kernel.spv")
    assert (rooftile.folder / "kernel.spv").read_bytes()[:4] == b"\x03\x02\x23\x07"
    rooftile.refuses(*MINIMUM, *naive, "--spirv", "no/folder.spv", says="no/folder")
    assert "Rooftile pack A" in rooftile.run(*MINIMUM, "--family", "broadcast", "--pack", "a").stdout


GROUPS = ["--groups", 8, "--m", 512, "--n", 64, "--k", 96]


def test_groups_give_the_kernel_of_a_grouped_product(rooftile):
    text = rooftile.run(*MINIMUM, *GROUPS, "--type", "f32xq8_0", "--trans-b").stdout
    assert "GROUP_BINDING" in text
    assert "GROUP_BINDING" not in rooftile.run(*MINIMUM, *GROUPS[2:], "--type", "f32xq8_0", "--trans-b").stdout
    kernels = space(rooftile, *GROUPS, "--family", "register")
    assert kernels and {kernel["split_k"] for kernel in kernels} == {"1"}
    assert {kernel["edge"] for kernel in kernels} == {"masked"}
    rooftile.refuses(*MINIMUM, *GROUPS, "--family", "register", "--split_k", 4, says="split_k and tile_batch must be 1")
    rooftile.refuses(*MINIMUM, *GROUPS, "--target", "wgsl", says="grouped products are for Vulkan")


def test_help_lists_values_and_what_goes_together(rooftile):
    text = re.sub(r"\s+", " ", rooftile.run("emit", "--help").stdout)
    assert "naive, register, tiled, broadcast, vector, batched_small, matrix" in text
    for option in ("--m", "--batch", "--type", "--epilogue", "--list-space", "--limits"):
        assert f" {option} " in text, option
