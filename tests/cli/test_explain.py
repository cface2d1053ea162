"""`rooftile explain` on a synthetic database prints what the model predicts."""
import contextlib
import json
import os
import re
import sqlite3
import subprocess

import numpy as np
import pytest
import schemas

from conftest import SOURCE

SCHEMA = schemas.load("explain")
SIZES = ["--m", 200, "--n", 300, "--k", 400]


@pytest.fixture
def planted(rooftile):
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], rooftile.database, "fast"], check=True)
    return rooftile


def explain(rooftile, *arguments, **environment):
    return json.loads(rooftile.run("explain", *arguments, "--json", **environment).stdout)


def test_every_field_is_explained():
    assert list(schemas.unexplained(SCHEMA)) == []


@pytest.mark.parametrize("arguments", [SIZES, [*SIZES, "--epilogue", "relu"], [*SIZES, "--resident", "a,b,c"], [*SIZES, "--packed", "b"],
                                       ["--operation", "sum", "--elements", 1000]])
def test_json_is_as_documented(planted, arguments):
    for database in ({}, {"ROOFTILE_DB": "none.db"}):
        text = planted.run("explain", *arguments, "--json", **database).stdout
        answer = schemas.validate(SCHEMA, text, "explanation")
        assert [f["name"] for f in answer["factors"]] == SCHEMA["$defs"]["factor"]["properties"]["name"]["enum"]


@pytest.mark.parametrize("form, arguments", [("explanation", SIZES), ("table", ["--table"])])
def test_the_schema_refuses_every_corrupted_document(planted, form, arguments):
    answer = schemas.validate(SCHEMA, planted.run("explain", *arguments, "--json").stdout, form)
    assert schemas.accepted_errors(SCHEMA, answer) == []


def test_why_several_devices_do_not_compute_it(planted):
    answer = explain(planted, *SIZES, "--devices", "all")
    assert not answer["split"] and answer["split_shares"] == "" and answer["split_ns"] > 0
    assert "together" in answer["split_reason"]
    text = planted.run("explain", *SIZES, "--devices", "all").stdout
    assert "\nsplit: no\n  " in text
    # What it costs to start a thread is measured in each process.
    times = re.compile(r"[\d.]+ ([mun]?s)")
    why = times.sub(r"\1", answer["split_reason"])
    assert why in times.sub(r"\1", " ".join(text.split()))
    assert times.sub(r"\1", explain(planted, *SIZES, ROOFTILE_DEVICES="all")["split_reason"]) == why
    assert explain(planted, *SIZES, "--devices", "one", ROOFTILE_DEVICES="all")["split_reason"] == ""
    assert "split" not in planted.run("explain", *SIZES).stdout
    for arguments, environment, why in ((["--tier", "host"], {}, "forced"), (["--packed", "b"], {}, "one device"),
                                        ([], {"ROOFTILE_DETERMINISTIC": "1"}, "deterministic"),
                                        ([], {"ROOFTILE_PRECISION": "exact64"}, "precision")):
        assert why in explain(planted, *SIZES, "--devices", "all", *arguments, **environment)["split_reason"]
    planted.refuses("explain", *SIZES, "--devices", "both", says="--devices", code=2)


def test_what_runs_while_the_kernel_is_compiled(planted):
    forced = [*SIZES, "--tier", "device"]
    assert explain(planted, *forced)["quick_kernel"] == "naive 8x8 1x1"
    assert "\nwhile it is compiled: naive 8x8 1x1\n" in planted.run("explain", *forced).stdout
    assert explain(planted, *forced, ROOFTILE_DETERMINISTIC="1")["quick_kernel"] == ""
    assert explain(planted, *SIZES)["quick_kernel"] == ""  # the host is faster


@pytest.mark.parametrize("arguments", [SIZES, [*SIZES, "--resident", "b"], [*SIZES, "--batch", 7, "--trans-a"],
                                       [*SIZES, "--epilogue", "bias_column+relu"], [*SIZES, "--type", "bf16"],
                                       ["--operation", "fma", "--elements", 123456],
                                       ["--operation", "dot", "--elements", 99, "--resident", "a", "--type", "f16"]])
def test_seven_factors_explain_the_difference(planted, arguments):
    answer = explain(planted, *arguments)
    host = min(answer["host_ns"], answer["host1_ns"])
    assert np.prod([f["value"] for f in answer["factors"]]) == pytest.approx(answer["score"], rel=1e-9)
    assert answer["score"] == pytest.approx(host / answer["device_ns"], rel=1e-9)
    assert sum(f["ns"] for f in answer["factors"]) == pytest.approx(answer["device_ns"] - host, rel=1e-6)
    assert (answer["tier"] == "device") == (answer["score"] > 1)
    assert answer["intensity"] == pytest.approx(answer["flops"] / answer["bytes"])


def test_resident_operands_are_not_transferred(planted):
    here = explain(planted, *SIZES)
    assert here["upload_ns"] == pytest.approx(4 * (200 * 400 + 400 * 300) / 10)
    assert here["download_ns"] == pytest.approx(4 * 200 * 300 / 10)
    there = explain(planted, *SIZES, "--resident", "a,c")
    assert there["upload_ns"] == pytest.approx(4 * 400 * 300 / 10)
    assert there["download_ns"] == 0
    assert there["resident"] == ["a", "c"]
    assert there["host_ns"] > here["host_ns"]  # The host has to download A and upload C.


def test_transfer_paths_of_operands_are_shown(planted):
    ways = ("way_a", "way_b", "way_c_in", "way_c_out")
    answer = explain(planted, *SIZES)  # The synthetic device imports no memory.
    assert [answer[way] for way in ways] == ["staged", "staged", "none", "staged"]
    assert re.search(r"^gpu_class .* a staged, b staged, c staged$", planted.run("explain", *SIZES).stdout, re.MULTILINE)
    there = explain(planted, *SIZES, "--resident", "a,c")
    assert [there[way] for way in ways] == ["none", "staged", "none", "none"]
    assert answer["overlapped_ns"] == 0


def test_flips_are_where_the_choice_changes(rooftile):
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], rooftile.database, "even"], check=True)
    answer = explain(rooftile, *SIZES, "--resident", "a,b,c")
    flips = {f["size"]: f for f in answer["counterfactual"]["flips"]}
    assert list(flips) == ["m", "n", "k", "batch"]
    found = 0
    for size, flip in flips.items():
        for edge, inward in (("below", 1), ("above", -1)):
            if flip[edge] is None:
                continue
            found += 1
            sizes = {"m": 200, "n": 300, "k": 400, "batch": 1}
            assert flip["value"] == sizes[size]

            def on_device(value):
                options = [x for name, old in sizes.items() for x in (f"--{name}", value if name == size else old)]
                return explain(rooftile, *options, "--resident", "a,b,c")["tier"] == "device"
            assert on_device(flip[edge]) != (answer["tier"] == "device")
            assert on_device(flip[edge] + inward) == (answer["tier"] == "device")
    assert found > 0


def test_text_has_the_time_on_the_other_tier_and_the_threshold(planted):
    answer = explain(planted, *SIZES)
    slower = max(answer["score"], 1 / answer["score"])
    other = "host" if answer["tier"] == "device" else "device"
    assert answer["counterfactual"]["text"].startswith(f"the {other} would take {slower:.2f} x as long; ")
    text = planted.run("explain", *SIZES).stdout
    assert answer["counterfactual"]["text"] in text
    assert "product = score" in text and "measured: nothing on these sizes" in text
    assert re.search(r"^  batch = 1 +\S", text, re.MULTILINE)


def test_measurements_are_shown(planted):
    sizes = ["--m", 64, "--n", 64, "--k", 64]
    measured = explain(planted, *sizes)["measured"]
    # The values are the synthetic database's kernel time and its host rates of 20 and 12 GFLOP/s.
    assert measured == {"kernel_ns": 1e5, "host_ns": pytest.approx(2 * 64**3 / 20),
                        "host1_ns": pytest.approx(2 * 64**3 / 12)}
    assert "measured: kernel 100.0 us, host 26.2 us" in planted.run("explain", *sizes).stdout
    assert explain(planted, *sizes, "--trans-a")["measured"] == {"kernel_ns": 1e5, "host_ns": None, "host1_ns": None}


@pytest.mark.parametrize("arguments, name, says", [
    ([*SIZES, "--type", "i8_i32"], "no_kernel", "no kernel for i8_i32.nn"),
    (["--m", 1 << 20, "--n", 1 << 18, "--k", 8], "does_not_fit", "bytes"),
])
def test_vetoes_have_names(planted, arguments, name, says):
    answer = explain(planted, *arguments)
    assert answer["veto_name"] == name and says in answer["veto"]
    assert answer["score"] == 0 and answer["device_ns"] is None and answer["tier"] != "device"
    assert [(f["value"], f["ns"]) for f in answer["factors"]] == 7 * [(None, None)]
    text = planted.run("explain", *arguments).stdout
    assert f"the device cannot be used ({name}): " in text
    # The answer holds only the reason, without factors and device time.
    assert not re.search(r"^(factor|size_vs_threshold|precision_risk|product = score|device +not) ", text, re.MULTILINE)
    assert re.search(r"^host1? +[\d.]+ [num]?s$", text, re.MULTILINE)


def test_every_veto_is_documented():
    section = (SOURCE / "docs" / "explain.md").read_text().split("\n## Names of vetoes\n")[1].split("\n## ")[0]
    names = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert names == SCHEMA["$defs"]["veto_name"]["enum"]


def test_a_class_that_was_not_tuned_takes_a_plain_kernel_and_a_pass(planted):
    plain, fused = explain(planted, *SIZES), explain(planted, *SIZES, "--epilogue", "relu")
    assert plain["means"] == "tuned" and plain["pass_ns"] == 0
    assert fused["means"] == "host_pass" and fused["kernel"] == plain["kernel"]
    # The synthetic host reads the sums and writes C at 20 GB/s.
    assert fused["pass_ns"] == pytest.approx(2 * 4 * 200 * 300 / 20)
    assert fused["device_ns"] == pytest.approx(plain["device_ns"] + fused["pass_ns"])
    text = planted.run("explain", *SIZES, "--epilogue", "relu").stdout
    assert " + pass of the host over c " in text and "certified in the background" in text
    assert fused["pass_over"] == "c" and plain["pass_over"] == ""
    half = explain(planted, *SIZES, "--type", "f16")
    assert half["means"] == "host_pass" and half["upload_ns"] == pytest.approx(plain["upload_ns"])
    text = planted.run("explain", *SIZES, "--type", "f16").stdout
    assert " + pass of the host over a, b and c " in text and "in f32, to which the host widens the operands" in text
    assert half["pass_over"] == "a, b and c"
    assert half["pass_ns"] == pytest.approx((6 * (200 * 400 + 400 * 300) + 2 * 4 * 200 * 300) / 20)


def test_without_a_database_the_veto_is_shown(rooftile):
    answer = explain(rooftile, *SIZES)
    assert answer["veto_name"] == "not_tuned" and "rooftile tune" in answer["veto"]
    assert answer["counterfactual"] == {"text": "no other size would change that", "flips": []}
    table = explain(rooftile, "--table")
    assert table["device"] == "" and "rooftile tune" in table["note"]
    assert {row["veto_name"] for row in table["rows"]} == {"not_tuned", "device_not_calibrated"}


def test_what_a_forced_device_does_is_said(planted):
    forced = (*SIZES, "--tier", "device")
    for arguments, environment, does, says in (
            (forced, {}, "runs", "device (forced)\n"),
            ((*forced, "--type", "i8_i32"), {}, "certifies_first", "; such a call waits until a kernel is certified\n"),
            (forced, {"ROOFTILE_PRECISION": "exact64", "ROOFTILE_DETERMINISTIC": "on"}, "fails", "; such a call fails (UNSUPPORTED)\n")):
        assert json.loads(planted.run("explain", *arguments, "--json", **environment).stdout)["forced_device"] == does
        assert says in planted.run("explain", *arguments, **environment).stdout
    assert explain(planted, *SIZES)["forced_device"] == ""


def test_a_forced_device_that_is_not_tuned_is_named(rooftile):
    untuned = explain(rooftile, *SIZES, "--tier", "device")
    assert untuned["forced_device"] == "certifies_first" and untuned["device"] != ""


def test_forced_tier_is_marked(planted):
    answer = explain(planted, *SIZES, "--tier", "host64")
    assert answer["forced"] and answer["tier"] == "host64"
    assert "host64 (forced)" in planted.run("explain", *SIZES, "--tier", "host64").stdout


def test_table_is_the_published_one_with_this_machines_figures(planted):
    table = schemas.validate(SCHEMA, planted.run("explain", "--table", "--json").stdout, "table")
    intensities = {}
    for row in table["rows"]:
        intensities[row["problem"]] = row["intensity"]
        assert row["score"] > 0 or row["veto_name"] != "none"
    for problem, intensity in [("element-wise multiply, 1M elements", 0.125), ("element-wise FMA, 1M elements", 0.25),
                               ("reduction SUM, 1M elements", 0.25), ("radix sort pass, 1M elements", 0.375),
                               ("GEMM 128x128", 128 / 6), ("GEMM 256x256", 256 / 6), ("GEMM 512x512", 512 / 6),
                               ("GEMM 1024x1024", 1024 / 6), ("GEMM 64x64", 64 / 6), ("GEMM 2048x2048", 2048 / 6)]:
        assert intensities[problem] == pytest.approx(intensity), problem
    # The synthetic database has 80 GFLOP/s, 12 GB/s and 40 us.
    assert table["ridge_intensity"] == pytest.approx(80 / 12)
    assert table["breakeven_flops"] == pytest.approx(40e3 * 80)
    # The host would have to download the operand and upload the result, which takes two submissions alone.
    assert table["breakeven_elements"] == 1
    [multiply] = [row for row in table["rows"] if row["problem"] == "element-wise multiply, 1M elements"]
    assert multiply["utilisation"] == pytest.approx(0.125 * 12 / 80)
    assert multiply["device_ns"] == pytest.approx(40e3 + 8e6 / 10 + 8e6 / 12)
    resident = explain(planted, "--table", "--resident", "a,b,c")
    [multiply] = [row for row in resident["rows"] if row["problem"] == "element-wise multiply, 1M elements"]
    assert multiply["device_ns"] == pytest.approx(40e3 + 8e6 / 12)
    assert multiply["tier"] == "device"
    assert explain(planted, "--operation", "scale", "--elements", 1, "--resident", "a,c")["tier"] == "device"
    text = planted.run("explain", "--table").stdout
    assert all(row["problem"] in text for row in table["rows"])
    assert "on the device already: always pays" in text


def test_breakeven_of_resident_operands_is_where_the_choice_changes(planted):
    """A device with fast host access to its memory and slow submission, so that small operations run on the host."""
    with contextlib.closing(sqlite3.connect(planted.database)) as database:
        database.execute("UPDATE calibration_figures SET value = 1e6 WHERE name = 'device.submit'")
        database.execute("DELETE FROM calibration_figures WHERE name = 'device.fetch'")
        database.execute("INSERT INTO calibration_figures SELECT calibration_id, max(position) + 1, 'device.fetch', 'ns', 1, 0, 1"
                         " FROM calibration_figures GROUP BY calibration_id")
        database.commit()
    pays = int(explain(planted, "--table")["breakeven_elements"])
    assert pays > 1
    for elements, tier in ((pays - 1, "host"), (pays, "device")):
        assert explain(planted, "--operation", "scale", "--elements", elements, "--resident", "a,c")["tier"].startswith(tier)
    assert f"on the device already: pays from {pays} elements on" in planted.run("explain", "--table").stdout


def test_table_without_calibration_has_no_breakeven(rooftile):
    assert explain(rooftile, "--table")["breakeven_elements"] is None
    assert "on the device already" not in rooftile.run("explain", "--table").stdout


@pytest.mark.parametrize("arguments, says", [
    ([], "--m, --n and --k.*--operation.*--table"),
    (["--m", 64, "--n", 64], "--k"),
    (["--operation", "relu"], "--elements"),
    (["--elements", 5], "--operation"),
    (["--operation", "convolve", "--elements", 5], "'convolve'.*relu"),
    (["--operation", "relu", "--elements", 0], "--elements"),
    (["--operation", "relu", "--elements", 5, "--m", 3], "--m"),
    (["--operation", "relu", "--elements", 5, "--type", "f99"], "f99"),
    (["--operation", "relu", "--elements", 5, "--resident", "b"], "--resident is 'b'.*reads"),
    (["--table", "--m", 3], "--m"),
    (["--table", "--tier", "host"], "--tier"),
    ([*SIZES, "--resident", "a,d"], "'a,d'.*a,b,c"),
    ([*SIZES, "--resident", "abc"], "'abc'"),
])
def test_wrong_use_is_exit_code_2(rooftile, arguments, says):
    rooftile.refuses("explain", *arguments, says=says, code=2)


def test_where_float64_sums_are_made_is_said(rooftile):
    subprocess.run([os.environ["ROOFTILE_WRITE_DATABASE"], rooftile.database, "slow", "f64"], check=True)
    exact = {"ROOFTILE_PRECISION": "exact64"}
    answer = explain(rooftile, *SIZES, **exact)
    assert (answer["tier"], answer["means"], answer["pass_over"]) == ("device", "host_pass", "a, b and c")
    assert ", of the plain product in f64, to which the host widens the operands\n" in rooftile.run("explain", *SIZES, **exact).stdout
    assert rooftile.run("explain", *SIZES, **exact).stdout.startswith("200x300x400 nn f32 with float64 sums, operands in host memory: device\n")
    assert ": host64 (for its precision)\n" in rooftile.run("explain", *SIZES, "--tier", "host1", **exact).stdout
    assert explain(rooftile, *SIZES, "--packed", "b", **exact)["tier"] == "device"  # of the original
    for arguments in (["--resident", "a,b,c"], ["--groups", "4"]):
        refused = explain(rooftile, *SIZES, *arguments, **exact)
        assert (refused["tier"], refused["veto_name"], refused["kernel"], refused["score"]) == ("host64", "float64", "", 0), refused


def test_operands_that_may_be_rounded_are_said(rooftile):
    half = ["--precision", "half"]
    write = [os.environ["ROOFTILE_WRITE_DATABASE"], rooftile.database, "slow"]

    def why_not(*arguments, **environment):
        answer = explain(rooftile, *SIZES, *arguments, **environment)
        assert answer["may_round_operands"] is False
        text = rooftile.run("explain", *SIZES, *arguments, **environment).stdout
        assert ("operands may be rounded, but none is: " in text) == (answer["why_not_rounded"] != "")
        return answer["why_not_rounded"]

    assert why_not(*half) == "no device is tuned"
    subprocess.run([*write, "f32"], check=True)
    assert why_not(*half) == "the device has no units that multiply rounded operands"
    int8 = ["--trans-b", "--type", "f32xq8_0", "--precision", "int8"]
    assert why_not(*int8) == "no kernel is tuned for it: tune these sizes with --type f32xq8_0_int8"
    subprocess.run([*write, "f32_half"], check=True)
    for arguments, environment in ((half, {}), ([], {"ROOFTILE_PRECISION": "half"}), (["--type", "f32_half"], {})):
        answer = explain(rooftile, *SIZES, *arguments, **environment)
        assert (answer["tier"], answer["means"], answer["may_round_operands"], answer["why_not_rounded"]) == ("device", "tuned", True, "")
        assert " with operands that may be rounded, operands in host memory: device\n" in rooftile.run(
            "explain", *SIZES, *arguments, **environment).stdout
    assert why_not(*int8) == "no kernel is faster with it"  # as that of f32_half, for which the host would widen B
    subprocess.run([*write, "f32xq8_0_int8"], check=True)
    assert explain(rooftile, *SIZES, *int8)["may_round_operands"] is True
    assert why_not(*half, "--packed", "b") == "no kernel that rounds reads a packed operand"
    assert why_not(*half, "--tier", "host") == "the host rounds none"
    for arguments in ([], [*half, "--type", "f16"], ["--precision", "standard"]):
        assert why_not(*arguments) == ""
    for precision in ("exact64", "high"):
        assert why_not("--type", "f32_half", "--precision", precision) == ""
    assert "may round operands" in explain(rooftile, *SIZES, "--devices", "all", *half)["split_reason"]
    rooftile.refuses("explain", *SIZES, "--precision", "best", says="best", code=2)


def test_a_packed_operand_is_not_transferred(planted):
    usual, packed = explain(planted, *SIZES), explain(planted, *SIZES, "--packed", "b")
    assert (usual["packed"], packed["packed"]) == (None, "b")
    assert packed["way_b"] == "none" and packed["way_a"] == usual["way_a"] != "none"
    assert packed["upload_ns"] < usual["upload_ns"]
    assert packed["host_ns"] == usual["host_ns"]
    assert "b packed before" in planted.run("explain", *SIZES, "--packed", "b").stdout
    planted.refuses("explain", *SIZES, "--packed", "b", "--resident", "b", says="--packed", code=2)
