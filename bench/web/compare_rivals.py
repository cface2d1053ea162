#!/usr/bin/env python3
"""Winners of the page of `rooftile web` beside the matrix products of onnxruntime-web and TensorFlow.js.

    python3 bench/web/compare_rivals.py [--program build/rooftile] [--budget 20] [--rounds 9] [--problem 512x512x512 ...]

In headless Chromium the page's own search tunes each float32 problem (m x n x k, multiples of 4) for the budget in seconds. Its
certified winner, the untuned 4x4 kernel and both libraries then compute on one device, operands and result resident, in turns. Prints
medians with the median absolute deviation, and how many times as fast the winner is. Results are compared with the winner's: `error`
is the largest difference over the bound of float32 sums.
npm installs the libraries (bench/web/rivals/package-lock.json) in ~/.cache/rooftile-web-rivals, or in ROOFTILE_WEB_RIVALS. Needs
scripts/build-web and the packages of scripts/packages-test.
"""
import argparse
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading

from journey import browser

HERE = pathlib.Path(__file__).parent


def libraries():
    """The folder node_modules with the libraries; installs them once."""
    folder = pathlib.Path(os.environ.get("ROOFTILE_WEB_RIVALS") or pathlib.Path.home() / ".cache/rooftile-web-rivals")
    lock = (HERE / "rivals/package-lock.json").read_text()
    ready = folder / "ready"
    if not ready.is_file() or ready.read_text() != lock:
        folder.mkdir(parents=True, exist_ok=True)
        ready.unlink(missing_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / "rivals" / name, folder)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=folder, check=True)
        ready.write_text(lock)
    return folder / "node_modules"


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript", ".wasm": "application/wasm"}

    def log_message(self, *arguments):
        pass


def table(problem, answer):
    results = answer["results"]
    print(f"{problem} on {answer['adapter']}")
    for one in results:
        print(f"  {one['name']:<60} {one['ms']:9.3f} ms +- {100 * one['spread']:4.1f} %  {one['ms'] / results[0]['ms']:5.2f} x  error {one['error']:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/rooftile")
    parser.add_argument("--budget", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--problem", nargs="+", default=["512x512x512"])
    parser.add_argument("--json", help="a file for all of it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch) / "root"
        root.mkdir()
        subprocess.run([arguments.program, "web", "-o", root / "page"], check=True, stdout=subprocess.DEVNULL)
        (root / "node_modules").symlink_to(libraries())
        for file in ("rivals/rivals.html", "rivals/rivals.js", "tuning_services.mjs"):
            shutil.copy(HERE / file, root)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=root))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        driver = browser(f"{scratch}/profile")
        driver.set_script_timeout(1200)
        answers = {}
        try:
            for problem in arguments.problem:
                driver.get(f"http://127.0.0.1:{server.server_port}/rivals.html")
                m, n, k = map(int, problem.split("x"))
                answer = driver.execute_async_script(
                    "const [problem, seconds, rounds, done] = arguments;"
                    "const ready = () => globalThis.compare ? compare(problem, seconds, rounds).then(done, e => done({error: `${e.stack ?? e}`}))"
                    "  : setTimeout(ready, 100);"
                    "ready();", {"m": m, "n": n, "k": k}, arguments.budget, arguments.rounds)
                if "error" in answer:
                    raise SystemExit(f"{problem}: {answer['error']}")
                table(problem, answer)
                answers[problem] = answer
        finally:
            driver.quit()
            server.shutdown()
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(answers, indent=1))


if __name__ == "__main__":
    main()
