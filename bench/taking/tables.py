"""Tables and sentences of a device's page in bench/results/."""
import collections
import re
import statistics
import textwrap


def us(ns):
    value = float(ns) / 1000
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def table(header, rows):
    lines = ["| " + " | ".join(map(str, line)) + " |" for line in [header, *rows]]
    return "\n".join([lines[0].replace("|  |", "| |"), "|" + "---|" * len(header), *lines[1:]]) + "\n"


def prose(text):
    return textwrap.fill(text, 140, break_long_words=False, break_on_hyphens=False) + "\n"


RATES = [("float32 {} TFLOP/s", "device.fma.f32", 1e3), ("float16 without matrix units {}", "device.fma.f16", 1e3),
         ("packed dot products {} Tops/s", "device.dot.i8", 1e3), ("matrix units {} (float16 to float32)", "device.matrix.f16.f32", 1e3),
         ("{} (bfloat16)", "device.matrix.bf16.f32", 1e3), ("{} (8 bits)", "device.matrix.i8.i32", 1e3),
         ("memory {} TB/s", "device.level.memory.bandwidth", 1e3), ("cache {} TB/s", "device.level.cache.bandwidth", 1e3),
         ("a submission {} us", "device.submit", 1e3), ("a further dispatch {} us", "device.dispatch", 1e3),
         ("a fetch of 16 bytes {} us", "device.fetch", 1e3), ("importing the least {} us", "device.import.least", 1e3),
         ("copies to the device {} GB/s", "device.upload", 1), ("back {}", "device.download", 1),
         ("kernels that read the host's memory {}", "device.import.read", 1)]


def rates(figures):
    said = [text.format(f"{value:,.0f}" if value >= 1000 else f"{value:.3g}") for text, name, unit in RATES if name in figures
            for value in [figures[name] / unit]]
    return "`rooftile calibrate`: " + ", ".join(said) + "."


def by_problem(rows):
    found = {}
    for row in rows:
        found.setdefault(row["problem"], {})[row["contestant"]] = float(row["median_ns"])
    return found


def gemm(rows):
    found = by_problem(rows)
    names = {name for times in found.values() for name in times}
    rival = next((name for name in ("cublas", "clblast", "ggml") if name in names), None)
    columns = ["tuned_kernel", "default_kernel", *([rival] if rival else []), *sorted(n for n in names if re.fullmatch(r"kernel_\d+", n))]
    calls = ["openblas", "tuned", "auto"]
    title = {"tuned_kernel": "tuned kernel", "default_kernel": "untuned", "cublas": "cuBLAS", "openblas": "OpenBLAS", "tuned": "tuned call"}
    lines, ratios = [], collections.defaultdict(list)
    for problem, times in found.items():
        cells = [us(times[name]) if name in times else "" for name in columns]
        if rival:
            ratio = times[rival] / times["tuned_kernel"] if rival in times and "tuned_kernel" in times else None
            cells.append(f"{ratio:.2f} x" if ratio else "")
            if ratio:
                of_types = problem.split()[2:]
                ratios["other types" if of_types and of_types[0] != "batch" else "float32"].append(ratio)
        lines.append([problem, *cells, *(us(times[name]) if name in times else "" for name in calls)])
    shown = [title.get(name, name) for name in columns] + ([f"{title.get(rival, rival)} / tuned"] if rival else [])
    text = table(["problem", *shown, *(title.get(name, name) for name in calls)], lines)
    means = [f"{statistics.geometric_mean(r):.2f} for {types} (worst {min(r):.2f}, {len(r)} problems)" for types, r in ratios.items()]
    return text + ("\n" + prose(f"Geometric mean over {title.get(rival, rival)}: {', '.join(means)}.") if means else "")


def weights(rows):
    lines, ggml = [], {row["type"]: float(row["median_ns"]) for row in rows if row["kernel"] == "ggml"}
    for row in rows:
        if row["kernel"] == "ggml" or row["fastest"] != "1":
            continue
        other = ggml.get(row["type"])
        mine = float(row["median_ns"])
        lines.append([re.sub("^f32x", "", row["type"]).replace("f32", "float32"), us(mine), f"{float(row['ratio']):.3f}",
                      us(other) if other else "", f"{other / mine:.1f} x" if other else ""])
    return table(["weights", "us", "of float32", "ggml, us", "over ggml"], lines)


def mean_decile_worst(values):
    ordered = sorted(values)
    return f"{statistics.fmean(ordered):.3f} on average, {ordered[(9 * len(ordered)) // 10]:.2f} at the ninth decile, {ordered[-1]:.2f} at most"


def numbers(rows, *columns):
    return [[float(row[column]) for column in columns] for row in rows if all(row.get(column) for column in columns)]


def dispatch(rows):
    regrets = [1 + regret for (regret,) in numbers(rows, "regret")]
    times = numbers(rows, "device_ns", "host_ns", "host1_ns")
    text = f"Operands of the host: chosen over best tier {mean_decile_worst(regrets)}"
    if times:
        text += f"; the host is right for {sum(min(host, host1) <= device for device, host, host1 in times)} of {len(times)} of these sizes"
    text += "."
    resident = [1 + regret for (regret,) in numbers(rows, "resident_regret")]
    if resident:
        text += f" Operands on the device, host on one thread: {mean_decile_worst(resident)}."
    return text


def floor(rows):
    lines = []
    for row in rows:
        if row["part"] != "calls" and row["wall_ns"]:
            lines.append([row["part"], row["what"], row["size"], us(row["wall_ns"]), us(row["device_ns"]) if row["device_ns"] else "",
                          us(row["predicted_ns"]) if row["predicted_ns"] else ""])
    return table(["", "", "dispatches, bytes", "wall, us", "device's clock, us", "predicted, us"], lines)


def errors(rows):
    ways = list(dict.fromkeys(row["way"] for row in rows))
    by_k = {k: {row["way"]: row["error"] for row in rows if row["k"] == k} for k in dict.fromkeys(row["k"] for row in rows)}
    return table(["k", *ways], [[k, *(f"{float(found[way]):.1f}" if way in found else "" for way in ways)] for k, found in by_k.items()])
