"""What scripts/gpu-run brought: files, tables by kind, and what its database says."""
import collections
import contextlib
import csv
import gzip
import io
import json
import pathlib
import re
import sqlite3
import tarfile
import tempfile
import zlib

from taking.questions import QUEUE

MOST_BYTES = 1 << 30  # of all files of an archive together
# Columns by which a table is known. Its other columns may change.
KINDS = {"gemm": {"problem", "contestant", "median_ns"}, "weights": {"type", "kernel", "ratio_low", "fastest"},
         "dispatch": {"predicted_device_ns", "chosen", "regret"}, "experiments": {"experiment", "ratio_low", "verdict", "failure"},
         "floor": {"part", "what", "size", "wall_ns", "device_ns", "predicted_ns"}, "errors": {"k", "way", "error", "bound"}}


# What is told of a main loop in SASS, in this order.
OPCODES = "HMMA IMMA FFMA HFMA2 IDP LDSM LDS STS LDG LDGSTS LDL STL BAR MOV".split()


class Refused(Exception):
    pass


def read_archive(parts):
    """Contents of the archive's files by name, without folders."""
    packed = io.BytesIO(b"".join(part.read_bytes() for part in parts))
    found, names = {}, " ".join(str(part) for part in parts)
    try:
        # Unpacked whole, because only its end tells whether a bit of it is another.
        with gzip.open(packed) as unpacked:
            whole = unpacked.read(MOST_BYTES + 1)
        if len(whole) > MOST_BYTES:
            raise Refused(f"{names} holds more than {MOST_BYTES} bytes; unpack it and name the folder")
        with tarfile.open(fileobj=io.BytesIO(whole), mode="r:") as archive:
            for member in archive:
                if member.isdir():
                    continue
                path = pathlib.PurePosixPath(member.name)
                if not member.isfile() or path.is_absolute() or ".." in path.parts or len(path.parts) > 2:
                    raise Refused(f"{names} is no archive of scripts/gpu-run: it holds {member.name}")
                content = archive.extractfile(member).read()
                if len(content) != member.size:
                    raise EOFError
                found[path.name] = content
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        why = (str(error).splitlines() or ["it ends early"])[0]
        raise Refused(f"{names} is incomplete or no archive ({why}); are all parts named, and was it copied whole?")
    return found


def read_results(paths):
    if len(paths) == 1 and paths[0].is_dir():
        parts = sorted(paths[0].glob("*.tar.*"))
        if not parts:
            return {file.name: file.read_bytes() for file in sorted(paths[0].iterdir()) if file.is_file()}
        paths = parts
    return read_archive(sorted(paths))


class Results:
    def __init__(self, files):
        self.files = files
        self.missing, self.tables, self.device, self.figures = [], collections.defaultdict(list), {}, {}
        self.date, self.kernels, self.samples, self.counts = None, [], [], (0, 0, 0)
        self.database = next((files[name] for name in ("export.db", "rooftile.db") if name in files), None)
        if self.database is None and "devices.log" not in files and "summary.txt" not in files:
            raise Refused("that holds no results of scripts/gpu-run: neither export.db nor devices.log nor summary.txt")
        for name, content in files.items():
            if name.endswith(".csv"):
                self.add_table(name, content)
        if "kernels.tar" in files:
            self.read_kernels(files["kernels.tar"])
        self.missing += [f"a table of {kind}" for kind in KINDS if kind not in self.tables]
        if "export.db" not in files:
            self.missing.append("export.db" + (", rooftile.db takes its place" if self.database else ""))
        if self.database is not None:
            self.read_database()
        if not self.device:
            try:
                listed = json.loads(files.get("devices.log", b""))["devices"][0]
            except (ValueError, KeyError, IndexError):
                raise Refused("that names no device: there is no database, and no list of devices in devices.log")
            self.device = {"name": listed["name"], "driver": listed.get("driver_info", ""), "vendor": listed.get("vendor_id", 0)}
        summary = files.get("summary.txt", b"").decode(errors="replace")
        if "a rehearsal" in summary.partition("\n")[0]:
            raise Refused("that is a rehearsal of scripts/gpu-run, whose figures mean nothing")
        self.steps = [line for line in summary.splitlines()[1:] if line.strip() and "  done" not in line]
        said = re.search(r"(\d{4}-\d\d-\d\d)", summary)
        self.date = said[1] if said else self.date or "undated"
        said = re.search(r"commit (\w{7,40})", summary)
        self.commit = said[1] if said else "unknown"

    def add_table(self, name, content):
        reader = csv.DictReader(io.StringIO(content.decode(errors="replace")))
        columns = set(reader.fieldnames or [])
        kind = next((kind for kind, known in KINDS.items() if known <= columns), None)
        if kind is None:
            if not set(QUEUE) <= columns and not content.startswith(b"#"):
                self.missing.append(f"a meaning of {name}, whose columns are not known")
            return
        rows = list(reader)
        whole = [row for row in rows if None not in row and None not in row.values()]
        if len(whole) < len(rows):
            self.missing.append(f"{len(rows) - len(whole)} lines of {name}, which are cut off")
        if whole:
            self.tables[kind].append((name, whole))

    def read_kernels(self, content):
        """Adds to each answer how often the main loops of both kernels have some opcodes, where NVIDIA's tools could read them."""
        counts = {}
        try:
            with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
                kept = {pathlib.PurePosixPath(file.name).name: archive.extractfile(file).read() for file in archive if file.isfile()}
            for row in csv.DictReader(io.StringIO(kept["kernels.csv"].decode())):
                if f"{row['hash']}.json" not in kept:
                    continue
                found = collections.Counter()
                for opcode, count in json.loads(kept[f"{row['hash']}.json"])["kernels"][0]["main_loop"]["opcodes"].items():
                    found[opcode.partition(".")[0]] += count
                counts[row["problem"], row["kernel"]] = " ".join(
                    [f"{found[opcode]} {opcode}" for opcode in OPCODES if found[opcode]] + [f"of {sum(found.values())}"])
        except (tarfile.TarError, EOFError, AttributeError, LookupError, TypeError, ValueError) as error:
            self.missing.append(f"counts of kernels.tar, which is incomplete ({type(error).__name__}: {error})")
        for file, rows in self.tables["experiments"] if counts else []:
            for row in rows:
                row.update((f"{side}_sass", counts.get((row["problem"], row[side]), "")) for side in ("baseline", "variant"))
            table = io.StringIO()
            writer = csv.DictWriter(table, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            self.files[file] = table.getvalue().encode()

    def read_database(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "taken.db"
            file.write_bytes(self.database)
            try:
                with contextlib.closing(sqlite3.connect(file)) as opened:
                    self.ask(lambda query, *values: opened.execute(query, values).fetchall())
            except sqlite3.Error as error:
                raise Refused(f"the database is none of Rooftile's, or incomplete: {error}")

    def ask(self, query):
        devices = query("SELECT id, name, driver_info, vendor_id FROM devices ORDER BY (SELECT count(*) FROM runs WHERE device_id = "
                        "devices.id) DESC, id")
        if not devices:
            raise Refused("the database names no device")
        device = devices[0][0]
        self.device = dict(zip(["name", "driver", "vendor"], devices[0][1:]))
        self.figures = dict(query("SELECT figure, value FROM device_report WHERE device_id = ? AND figure IS NOT NULL", device))
        self.date = query("SELECT substr(max(created_at), 1, 10) FROM calibrations WHERE device_id = ?", device)[0][0]
        self.kernels = query("SELECT c.id, c.signature, c.variant, f.registers FROM candidates c JOIN compiler_facts f ON f.candidate_id = "
                             "c.id WHERE f.device_id = ?", device)
        measured = "samples s JOIN runs r ON r.id = s.run_id JOIN problems p ON p.id = s.problem_id WHERE r.device_id = ?"
        self.samples = query("SELECT p.m || 'x' || p.n || 'x' || p.k || ' ' || p.trans_a || p.trans_b || ' ' || p.type, s.candidate_id, "
                             f"min(s.kernel_ns) FROM {measured} AND s.status = 'measured' GROUP BY s.problem_id, s.candidate_id", device)
        self.counts = query(f"SELECT count(*), sum(s.status = 'wrong result'), (SELECT count(*) FROM rejected_kernels WHERE device_id = "
                            f"r.device_id) FROM {measured}", device)[0]
