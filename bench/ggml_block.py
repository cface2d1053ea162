#!/usr/bin/env python3
"""The block of examples/transformer_block.cpp as a graph of ggml, on ggml's first Vulkan device.

    build/examples/example_transformer_block --write FOLDER [--moe 8 ...]
    GGML_VK_VISIBLE_DEVICES=0 bench/ggml_block.py libggml-vulkan.so FOLDER [--runs 5]

Reads weights, input and cache of FOLDER, compares y with NumPy's (exit code 1: it differs by more than ggml's roundings), and
prints tokens per second. libggml-base.so lies beside the library (bench/README.md). The graph is that of llama.cpp without
norms and rotary embeddings; values are cached transposed, and the cache is float32, as ours."""
import argparse
import ctypes
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import transformer_block_check as reference  # noqa: E402

F32, Q4_K, I64, SIZE, POINTER = 0, 12, ctypes.c_int64, ctypes.c_size_t, ctypes.c_void_p
FLOAT_BYTES = 4
PRODUCTS = 7  # one behind the other, from x to y
HALF_ROUNDING = 2.0**-11 / 3**0.5  # of a float16, root mean square


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", SIZE), ("mem_buffer", POINTER), ("no_alloc", ctypes.c_bool)]


class Ggml:
    """ggml's C interface: ggml.NAME(...) calls ggml_NAME. The context `self.context` owns all tensors."""

    RETURNS_POINTER = ("init new_tensor_2d new_tensor_3d mul_mat mul_mat_id soft_max_ext soft_max argsort_top_k get_rows swiglu_split add "
                       "mul cpy cont_2d view_2d view_3d reshape_2d reshape_3d permute transpose new_graph backend_vk_init "
                       "backend_alloc_ctx_tensors").split()
    OPERATORS = set(RETURNS_POINTER) - {"init", "new_graph", "backend_vk_init", "backend_alloc_ctx_tensors"}

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        for name in self.RETURNS_POINTER:
            getattr(self.library, "ggml_" + name).restype = POINTER
        self.library.ggml_version.restype = self.library.ggml_commit.restype = ctypes.c_char_p
        self.library.ggml_nbytes.restype = SIZE
        if self.library.ggml_backend_vk_get_device_count() < 1:
            raise SystemExit("ggml finds no Vulkan device; it takes a software device only if GGML_VK_VISIBLE_DEVICES=0 names it")
        self.backend = POINTER(self.library.ggml_backend_vk_init(SIZE(0)))
        self.library.ggml_init.argtypes = [InitParams]
        self.context = POINTER(self.library.ggml_init(InitParams(16 << 20, None, True)))

    def version(self):
        return f"ggml {self.library.ggml_version().decode()}, commit {self.library.ggml_commit().decode()}"

    def __getattr__(self, name):
        def call(*values):
            # Integers are sizes of 64 bits or, for permute and argsort_top_k, ints: a register holds both.
            passed = [x if isinstance(x, (POINTER, ctypes.c_float)) else I64(x) for x in values]
            return POINTER(getattr(self.library, "ggml_" + name)(self.context, *passed))
        if name not in self.OPERATORS:
            raise AttributeError(name)
        return call

    def build(self, tensors):
        """Returns a graph that computes these, in their order, and the memory of all tensors."""
        graph = POINTER(self.library.ggml_new_graph(self.context))
        for tensor in tensors:
            self.library.ggml_build_forward_expand(graph, tensor)
        if self.library.ggml_backend_alloc_ctx_tensors(self.context, self.backend) is None:
            raise SystemExit("ggml has no memory for its tensors")
        return graph

    def set(self, tensor, values):
        data = np.ascontiguousarray(values)
        self.library.ggml_backend_tensor_set(tensor, POINTER(data.ctypes.data), SIZE(0), SIZE(data.nbytes))

    def get(self, tensor, values):
        self.library.ggml_backend_tensor_get(tensor, POINTER(values.ctypes.data), SIZE(0), SIZE(values.nbytes))

    def compute(self, graph):
        if self.library.ggml_backend_graph_compute(self.backend, graph) != 0:
            raise SystemExit("ggml's graph failed")


class Block:
    """The block of a folder that the example has written."""

    def __init__(self, library, folder):
        self.folder, self.ggml = Path(folder), Ggml(library)
        (self.tokens, self.past, self.width, self.heads, self.kv_heads, self.hidden, self.experts,
         self.chosen, self.weights_of_all) = map(int, (self.folder / "sizes").read_text().split())
        self.context = self.past + self.tokens
        self.content = []  # tensors, and what is written to them
        g = self.ggml
        self.x = self.input(F32, self.floats("x"), self.width, self.tokens)
        copies, attended = self.attention()
        middle = g.add(g.mul_mat(self.weights("output", self.width, self.width), attended), self.x)
        self.y = self.mixture(middle) if self.experts else self.mlp(middle)
        self.graph = g.build([*copies, self.y])
        for tensor, values in self.content:
            if g.library.ggml_nbytes(tensor) != values.nbytes:
                raise SystemExit(f"{folder}: a file has {values.nbytes} bytes, ggml's tensor another number")
            g.set(tensor, values)
        self.run(1)

    def floats(self, name):
        return np.fromfile(self.folder / name, np.float32)

    def input(self, kind, values, *sizes):
        tensor = (self.ggml.new_tensor_2d if len(sizes) == 2 else self.ggml.new_tensor_3d)(kind, *sizes)
        self.content.append((tensor, values))
        return tensor

    def weights(self, name, n, k, *experts):
        return self.input(Q4_K, np.fromfile(self.folder / name, np.uint8), k, n, *experts)

    def attention(self):
        """Returns the copies into the cache, and what the heads have attended to, tokens x width."""
        g, head, context, row = self.ggml, self.width // self.heads, self.context, FLOAT_BYTES
        kv_width = self.kv_heads * head
        old_keys, old_values = (self.floats(name).reshape(self.past, kv_width) for name in ("keys", "values"))
        room = np.zeros((self.tokens, kv_width), np.float32)
        keys = self.input(F32, np.concatenate([old_keys, room]), kv_width, context)
        values = self.input(F32, np.concatenate([old_values, room]).T.copy(), context, kv_width)
        key, value = (g.mul_mat(self.weights(name, kv_width, self.width), self.x) for name in ("key", "value"))
        copies = [g.cpy(key, g.view_2d(keys, kv_width, self.tokens, kv_width * row, self.past * kv_width * row)),
                  g.cpy(g.transpose(value), g.view_2d(values, self.tokens, kv_width, context * row, self.past * row))]
        query = g.mul_mat(self.weights("query", self.width, self.width), self.x)
        query = g.permute(g.reshape_3d(query, head, self.heads, self.tokens), 0, 2, 1, 3)
        of_heads = g.permute(g.view_3d(keys, head, self.kv_heads, context, head * row, kv_width * row, 0), 0, 2, 1, 3)
        later = np.arange(context) > np.arange(self.tokens)[:, None] + self.past
        mask = self.input(F32, np.where(later, -np.inf, 0).astype(np.float32), context, self.tokens)
        scores = g.soft_max_ext(g.mul_mat(of_heads, query), mask, ctypes.c_float(head**-0.5), ctypes.c_float(0))
        of_heads = g.view_3d(values, context, head, self.kv_heads, context * row, context * head * row, 0)
        attended = g.permute(g.mul_mat(of_heads, scores), 0, 2, 1, 3)
        return copies, g.cont_2d(attended, self.width, self.tokens)

    def mlp(self, middle):
        g = self.ggml
        gate, up = (g.mul_mat(self.weights(name, self.hidden, self.width), middle) for name in ("gate", "up"))
        return g.add(g.mul_mat(self.weights("down", self.width, self.hidden), g.swiglu_split(gate, up)), middle)

    def mixture(self, middle):
        g, tokens, chosen, experts = self.ggml, self.tokens, self.chosen, self.experts
        logits = g.mul_mat(self.input(F32, self.floats("router"), self.width, experts), middle)
        selected = g.argsort_top_k(logits, chosen)
        values = g.soft_max(logits) if self.weights_of_all else logits
        weights = g.reshape_2d(g.get_rows(g.reshape_3d(values, 1, experts, tokens), selected), chosen, tokens)
        weights = weights if self.weights_of_all else g.soft_max(weights)
        rows = g.reshape_3d(middle, self.width, 1, tokens)
        gate, up = (g.mul_mat_id(self.weights(name, self.hidden, self.width, experts), rows, selected) for name in ("gate", "up"))
        results = g.mul_mat_id(self.weights("down", self.width, self.hidden, experts), g.swiglu_split(gate, up), selected)
        results = g.mul(results, g.reshape_3d(weights, 1, chosen, tokens))
        row = self.width * FLOAT_BYTES
        total = middle
        for i in range(chosen):
            total = g.add(g.view_2d(results, self.width, tokens, chosen * row, i * row), total)
        return total

    def run(self, runs):
        """Returns tokens per second."""
        begin = time.perf_counter()
        for _ in range(runs):
            self.ggml.compute(self.graph)
        return self.tokens * runs / (time.perf_counter() - begin)

    def result(self):
        y = np.zeros((self.tokens, self.width), np.float32)
        self.ggml.get(self.y, y)
        return y

    def most_error(self):
        """ggml may add in float16: each of the longest product's k partial sums, which have half of its mean square, is rounded, and
        the errors of the products behind each other are independent."""
        longest = max(self.width, self.hidden)
        return PRODUCTS**0.5 * (longest / 2)**0.5 * HALF_ROUNDING

    def errors(self, right):
        """Of what the block adds to each token: root mean square beside that of y = `right`."""
        x = self.floats("x").reshape(right.shape)
        return np.sqrt(((self.result() - right)**2).mean(1) / ((right - x)**2).mean(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    block = Block(options.library, options.folder)
    errors = block.errors(reference.block(block.folder)[1].value)
    print(f"{block.run(options.runs):.1f} tokens/s: {block.ggml.version()}; error {np.median(errors):.2g}, at most {errors.max():.2g} "
          f"of what a token gains (allowed: {block.most_error():.2g})")
    return 0 if (errors <= block.most_error()).all() else 1  # NaN is not


if __name__ == "__main__":
    sys.exit(main())
