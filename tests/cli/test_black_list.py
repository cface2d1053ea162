"""`rooftile db black-list` shows blocked kernels with their reasons, and clears them for one device or for all."""
import pytest

from conftest import new_database


@pytest.fixture
def black_listed(rooftile):
    """Two devices with one blocked kernel each, and one unverified kernel."""
    with new_database(rooftile.database) as database:
        database.execute("PRAGMA journal_mode = WAL")
        for device, name in ((1, "llvmpipe (LLVM 15)"), (2, "Big GPU")):
            database.execute(
                "INSERT INTO devices (id, device_uuid, vendor_id, product_id, driver_id, driver_version,"
                " pipeline_cache_uuid, name, driver_name, driver_info, kind, api_version, memory_bytes, unified_memory,"
                " limits) VALUES (?, ?, 1, 1, 1, 1, 'u', ?, 'driver', 'driver 1.0', 'software', 1, 1, 1, '{}')",
                (device, f"uuid{device}", name))
            database.execute("INSERT INTO candidates (id, hash, signature, family, parameters, variant)"
                             " VALUES (?, ?, 'f32.nn', 'naive', '{}', 'family=naive tile_m=4 tile_n=8')",
                             (device, f"hash{device}"))
            database.execute("INSERT INTO black_list (device_id, candidate_id, reason) VALUES (?, ?, ?)",
                             (device, device, "timed out: no answer within 5.0 s"))
        database.execute("INSERT INTO journal (device_id, candidate_id, pid, process_start, boot_id, pid_namespace)"
                         " VALUES (2, 1, 1, 1, 'another boot', 'pid:[1]')")
    database.close()
    assert "sound" in rooftile.run("db", "check").stdout
    return rooftile


def count(rooftile, table):
    return int(rooftile.run("query", f"SELECT count(*) FROM {table}").stdout.split()[-1])


def test_it_is_shown_with_reasons(black_listed):
    text = black_listed.run("db", "black-list").stdout
    assert text.count("1 black-listed") == 2
    assert text.count("timed out: no answer within 5.0 s") == 2 and "naive 4x8" in text
    assert "llvmpipe" not in black_listed.run("db", "black-list", "--device", "Big").stdout
    assert count(black_listed, "black_list") == 2


def test_it_is_cleared_on_one_device_or_on_all(black_listed):
    text = black_listed.run("db", "black-list", "--clear", "--device", "llvmpipe").stdout
    assert "llvmpipe (LLVM 15) (driver 1.0): 1 no longer black-listed\n" == text
    assert count(black_listed, "black_list") == 1 and count(black_listed, "journal") == 1
    assert "Big GPU" in black_listed.run("db", "black-list", "--clear").stdout
    assert count(black_listed, "black_list") == 0 and count(black_listed, "journal") == 0


@pytest.mark.parametrize("arguments", [[], ["--clear"]])
def test_without_a_database_there_is_none_to_clear(rooftile, arguments):
    rooftile.refuses("db", "black-list", *arguments, says=f"{rooftile.database}.*rooftile tune")
    assert not rooftile.database.exists()
