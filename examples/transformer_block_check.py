#!/usr/bin/env python3
"""Computes with NumPy in float64 what `example_transformer_block --write FOLDER` has computed, and carries along what float32
results differ from that. Exit code 0: right, 1: an element differs by more than 8 standard deviations.

    python3 transformer_block_check.py FOLDER"""
import functools
import sys
from pathlib import Path

import numpy as np

UNIT = 2.0**-24
MLP = ("gate", "up", "down")  # of each expert
MOST_DEVIATIONS = 8  # Errors that share a cause add up instead of averaging out.


@functools.cache
def q4_k(path, n, k):
    """Weights of n x k. A block of 256 values: scale and unit of the minima in half precision, 12 bytes with the 6-bit scale and
    minimum of 8 groups, and 4 bits for each value, where two groups share the bytes of their values."""
    blocks = np.fromfile(path, np.uint8).reshape(-1, 144)
    scale, minimum = (blocks[:, i:i + 2].copy().view(np.float16).astype(float) for i in (0, 2))
    packed, nibbles = blocks[:, 4:16].astype(int), blocks[:, 16:].reshape(-1, 4, 1, 32)
    low, middle, high = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = np.concatenate([low & 63, high & 15 | low >> 6 << 4], 1)
    minima = np.concatenate([middle & 63, high >> 4 | middle >> 6 << 4], 1)
    values = np.concatenate([nibbles & 15, nibbles >> 4], 2).reshape(-1, 8, 32)
    weights = (scale * scales)[..., None] * values - (minimum * minima)[..., None]
    # Kernels may round the two terms of a weight apart.
    size = (scale * scales)[..., None] * values + (minimum * minima)[..., None]
    return weights.reshape(n, k), size.reshape(n, k)


class Rounded:
    """Float64 values, and the standard deviation of what float32 results differ from them, if roundings are independent of each
    other (N. Higham and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019): a worst case grows too fast
    through seven products in turn to tell right from wrong."""

    def __init__(self, value, deviation=0.0):
        self.value, self.deviation = value, deviation + np.zeros_like(value)

    def __add__(self, other):
        value = self.value + other.value
        return Rounded(value, np.hypot(np.hypot(self.deviation, other.deviation), UNIT * value))

    def times(self, b, size, deviation=0.0):
        """Product with a matrix b of this deviation, whose elements were computed from terms of this size. Partial sums of k
        products grow as the root of their number, and each is rounded."""
        roundings = UNIT**2 * (self.value.shape[-1] / 2 + 2)
        variance = self.deviation**2 @ b**2 + self.value**2 @ (deviation**2 + np.zeros_like(b))
        return Rounded(self.value @ b, np.sqrt(variance + roundings * (self.value**2 @ size**2)))

    def slice(self, *at):
        return Rounded(self.value[at], self.deviation[at])


def softmax(x, scale, used):
    """Of the columns for which `used` is true. Vulkan allows exp(t) 3 + 2 |t| units in the last place."""
    t = np.where(used, scale * x.value, -np.inf)
    largest = t.max(-1, keepdims=True)
    weights = np.exp(t - largest)
    y = weights / weights.sum(-1, keepdims=True)
    distance = np.where(used, largest - t, 0)
    of_exp = np.hypot(np.where(used, scale * x.deviation, 0), 2 * UNIT * (3 + 2 * distance + np.abs(largest)))
    of_sum = np.sqrt((y**2 * of_exp**2).sum(-1, keepdims=True) + UNIT**2 * (x.value.shape[-1] + 64))
    return Rounded(y, y * np.hypot(of_exp, of_sum))


def silu(x):
    """Within 16 units in the last place of its argument; its slope is at most 1.1."""
    return Rounded(x.value / (1 + np.exp(-x.value)), 1.1 * np.hypot(x.deviation, 32 * UNIT * x.value))


def multiply(x, y):
    value = x.value * y.value
    return Rounded(value, np.sqrt((x.deviation * y.value)**2 + (x.value * y.deviation)**2 + (UNIT * value)**2))


def choice(folder, logits, chosen):
    """The experts that the device has chosen of each row, from the largest logit on. Which of two logits that differ by less
    than their errors is larger, only the device knows; every other choice is an error."""
    experts = np.fromfile(folder / "chosen", np.int32).reshape(-1, chosen)
    if experts.min() < 0 or experts.max() >= logits.value.shape[1]:
        raise SystemExit("an expert does not exist")
    rows = np.arange(len(experts))
    left = logits.value.copy()  # what may still be chosen
    for expert in experts.T:
        best = left.argmax(1)
        error = np.hypot(logits.deviation[rows, best], logits.deviation[rows, expert])
        if not (left[rows, best] - left[rows, expert] <= MOST_DEVIATIONS * error).all():
            raise SystemExit("an expert is chosen twice, or one with a larger logit is not")
        left[rows, expert] = -np.inf
    return experts


def block(folder):
    tokens, past, width, heads, kv_heads, hidden, experts, chosen, weights_of_all = map(int, (folder / "sizes").read_text().split())
    head, sharing = width // heads, heads // kv_heads
    kv_width = kv_heads * head

    def project(a, name, n, k, expert=0):
        weights, size = (x[expert * n:(expert + 1) * n] for x in q4_k(folder / name, max(experts, 1) * n if name in MLP else n, k))
        return a.times(weights.T, size.T)

    def mlp(a, expert=0):
        gated = multiply(silu(project(a, "gate", hidden, width, expert)), project(a, "up", hidden, width, expert))
        return project(gated, "down", width, hidden, expert)

    def mixture(a):
        router = np.fromfile(folder / "router", np.float32).astype(float).reshape(experts, width)
        logits = a.times(router.T, np.abs(router.T))
        of_tokens = choice(folder, logits, chosen)
        at = np.arange(tokens)[:, None], of_tokens
        weights = softmax(logits, 1, True).slice(*at) if weights_of_all else softmax(logits.slice(*at), 1, True)
        results = Rounded(np.zeros((tokens, chosen, width)))
        for expert in np.unique(of_tokens):
            token, i = np.nonzero(of_tokens == expert)
            result = mlp(a.slice(token), expert)
            results.value[token, i], results.deviation[token, i] = result.value, result.deviation
        total = a
        for i in range(chosen):
            total = total + multiply(weights.slice(np.s_[:], np.s_[i:i + 1]), results.slice(np.s_[:], i))
        return total

    def cached(name, new):
        old = np.fromfile(folder / name, np.float32).astype(float).reshape(past, kv_width)
        return Rounded(np.concatenate([old, new.value]), np.concatenate([np.zeros_like(old), new.deviation]))

    x = Rounded(np.fromfile(folder / "x", np.float32).astype(float).reshape(tokens, width))
    queries = project(x, "query", width, width)
    keys, values = (cached(name + "s", project(x, name, kv_width, width)) for name in ("key", "value"))
    used = np.arange(past + tokens) <= np.arange(tokens)[:, None] + past
    attended = []
    for h in range(heads):
        of_head = np.s_[:, h // sharing * head:(h // sharing + 1) * head]
        k, v = keys.slice(*of_head), values.slice(*of_head)
        scores = queries.slice(np.s_[:], np.s_[h * head:(h + 1) * head]).times(k.value.T, np.abs(k.value.T), k.deviation.T)
        attended.append(softmax(scores, 1 / np.sqrt(head), used).times(v.value, np.abs(v.value), v.deviation))
    attended = Rounded(*(np.concatenate([getattr(a, part) for a in attended], 1) for part in ("value", "deviation")))
    middle = project(attended, "output", width, width) + x
    y = mixture(middle) if experts else mlp(middle) + middle
    got = np.fromfile(folder / "y", np.float32).astype(float).reshape(tokens, width)
    return got, y


def main():
    got, y = block(Path(sys.argv[1]))
    deviations = (np.abs(got - y.value) / y.deviation).max()
    print(f"largest error: {deviations:.2g} standard deviations ({np.abs(got - y.value).max():.2g} beside values up to {np.abs(y.value).max():.3g})")
    return 0 if deviations <= MOST_DEVIATIONS else 1  # NaN is not


if __name__ == "__main__":
    sys.exit(main())
