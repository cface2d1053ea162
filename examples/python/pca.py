"""Principal components: the covariance of samples x features is a product of the centred data with itself.

Exit code 0: the components are those of NumPy's float64 covariance.      pca.py [SAMPLES [FEATURES]]
"""
import sys

import numpy
import rooftile as rt


def main(samples=2000, features=96, wanted=3):
    random = numpy.random.default_rng(1)
    # Three directions of large, distinct variance in a cloud of noise.
    directions = numpy.linalg.qr(random.standard_normal((features, wanted)))[0]
    x = random.standard_normal((samples, wanted)) * [9, 6, 3] @ directions.T + random.standard_normal((samples, features)) / 2
    x = x.astype(numpy.float32)

    centred = x - x.mean(axis=0)
    with rt.Session() as session:
        covariance = session.matmul(centred.T, centred, alpha=1 / (samples - 1))
        values, vectors = numpy.linalg.eigh(covariance)
        components = vectors[:, ::-1][:, :wanted]
        scores = session.matmul(centred, components)

    expected = numpy.cov(x.astype(numpy.float64), rowvar=False)
    # Rounding of the mean, of centring and of float32 sums of `samples` products.
    magnitude = numpy.abs(centred.T).astype(numpy.float64) @ numpy.abs(centred) / (samples - 1)
    worst = numpy.max(numpy.abs(covariance - expected) / (magnitude * (samples + 8) * 2.0**-24))
    print(f"variances {', '.join(f'{v:.2f}' for v in values[::-1][:wanted])}; of the scores "
          f"{', '.join(f'{v:.2f}' for v in scores.var(axis=0, ddof=1))}")
    print(f"covariance: largest error {worst:.3f} of its bound")
    found = numpy.abs(numpy.sum(numpy.linalg.eigh(expected)[1][:, ::-1][:, :wanted] * components, axis=0))
    right = worst <= 1 and numpy.all(found > 0.9999)
    print("right" if right else "wrong")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
