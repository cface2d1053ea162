"""The best items for each user: scores are the product of user factors with item factors, of which each user gets the
largest. Users are scored in blocks, so that the scores of all of them never lie in memory together.

Exit code 0: every list is the one that float64 gives, but for items whose scores are equal to rounding.
                                                                          recommend.py [USERS [ITEMS [FACTORS]]]
"""
import sys

import numpy
import rooftile as rt

BLOCK = 256


def top(scores, count):
    """Columns of the largest values of each row, best first."""
    best = numpy.argpartition(scores, -count, axis=1)[:, -count:]
    order = numpy.argsort(-numpy.take_along_axis(scores, best, axis=1), axis=1)
    return numpy.take_along_axis(best, order, axis=1)


def main(users=700, items=3000, factors=64, count=10):
    random = numpy.random.default_rng(2)
    of_users = random.standard_normal((users, factors), dtype=numpy.float32)
    of_items = random.standard_normal((items, factors), dtype=numpy.float32)

    chosen = numpy.empty((users, count), dtype=numpy.int64)
    with rt.Session() as session:
        for begin in range(0, users, BLOCK):
            scores = session.matmul(of_users[begin:begin + BLOCK], of_items.T)
            chosen[begin:begin + BLOCK] = top(scores, count)

    exact = of_users.astype(numpy.float64) @ of_items.astype(numpy.float64).T
    bound = numpy.max(numpy.abs(of_users) @ numpy.abs(of_items).T) * (factors + 2) * 2.0**-24
    expected = numpy.take_along_axis(exact, top(exact, count), axis=1)
    worst = numpy.max(numpy.abs(expected - numpy.take_along_axis(exact, chosen, axis=1)))
    print(f"user 0: items {', '.join(map(str, chosen[0]))}")
    print(f"largest loss of a score: {worst:.2e}, from rounding at most {2 * bound:.2e}")
    print("right" if worst <= 2 * bound else "wrong")
    return 0 if worst <= 2 * bound else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
