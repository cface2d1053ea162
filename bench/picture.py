#!/usr/bin/env python3
"""Draws the picture of README.md: the rate of tuned kernels over cuBLAS, from stored tables.

    bench/picture.py > docs/nvidia-h200.svg

A table is what `rooftile-bench gemm --baseline cublas --csv` writes. Problems that cuBLAS does not have are left out.
The picture follows the reader's light or dark scheme.
"""
import csv
import html
import math
import pathlib

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
TABLES = ("nvidia-h200-f32.csv", "nvidia-h200-types.csv")
WIDTH, LEFT, RIGHT, TOP, STEP, BAR = 760, 210, 136, 62, 18, 12
FULL = 1.4  # The ratio at the right end of the axis.


def pairs():
    """Returns (problem, cuBLAS's time over the tuned kernel's, rate as text) of each problem that both have."""
    found = []
    for table in TABLES:
        times, rates = {}, {}
        with (RESULTS / table).open(newline="") as file:
            for row in csv.DictReader(file):
                times.setdefault(row["problem"], {})[row["contestant"]] = float(row["median_ns"])
                if row["contestant"] == "tuned_kernel":
                    rates[row["problem"]] = f"{float(row['gflops']) / 1000:.1f} T{'' if row['type'][0] in 'iu' else 'FL'}OP/s"
        found += [(problem, ns["cublas"] / ns["tuned_kernel"], rates[problem])
                  for problem, ns in times.items() if "cublas" in ns and "tuned_kernel" in ns]
    return found


def draw(rows):
    x = lambda ratio: LEFT + (WIDTH - LEFT - RIGHT) * min(ratio, FULL) / FULL
    bottom = TOP + STEP * len(rows)
    mean = math.exp(sum(math.log(ratio) for _, ratio, _ in rows) / len(rows))
    title = "Tuned Vulkan kernels on an NVIDIA H200, rate over cuBLAS"
    found = f"geometric mean {mean:.2f} over {len(rows)} problems"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" role="img" font-family="sans-serif" '
           f'font-size="12">', f"<title>{title}: {found}</title>",
           "<style>text{fill:#1f2328}.bar{fill:#2f81c7}.axis{stroke:#8c959f}.quiet{fill:#656d76}"
           "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#4ea1e6}.axis{stroke:#6e7681}.quiet{fill:#9198a1}}</style>",
           f'<text x="8" y="22" font-size="15" font-weight="bold">{title}</text>',
           f'<text x="8" y="42" class="quiet">{found.capitalize()}; m x n x k, transposes, types</text>']
    for tick in (0, 0.25, 0.5, 0.75, 1, 1.25):
        dash = "" if tick in (0, 1) else ' stroke-dasharray="2 4"'
        out.append(f'<line class="axis" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 4}" y2="{bottom}"{dash}/>')
        out.append(f'<text class="quiet" text-anchor="middle" x="{x(tick):.1f}" y="{bottom + 16}">{tick:g}</text>')
    for i, (problem, ratio, rate) in enumerate(rows):
        y = TOP + STEP * i
        out.append(f'<text x="{LEFT - 6}" y="{y + 10}" text-anchor="end">{html.escape(problem)}</text>')
        out.append(f'<rect class="bar" x="{LEFT}" y="{y}" width="{x(ratio) - LEFT:.1f}" height="{BAR}"/>')
        out.append(f'<text x="{WIDTH - RIGHT + 8}" y="{y + 10}">{ratio:.2f}<tspan class="quiet" dx="6">{rate}</tspan></text>')
    return "\n".join(out + ["</svg>"])


if __name__ == "__main__":
    print(draw(pairs()))
