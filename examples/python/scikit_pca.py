"""scikit-learn's principal components over NumPy's products, of which rooftile.numpy_patch routes the large ones.

Exit code 0: components, variances and scores are those of the float64 covariance, within bounds that are derived below, and
products were routed; 77: scikit-learn is not installed.
                                                                                       scikit_pca.py [SAMPLES [FEATURES]]
"""
import sys

import numpy
import rooftile as rt

UNIT = 2.0**-24  # relative error of one float32 rounding


def main(samples=4000, features=300, wanted=3):
    try:
        from sklearn.decomposition import PCA
    except ImportError:
        print("scikit-learn is not installed (python3-sklearn)")
        return 77
    random = numpy.random.default_rng(1)
    # Three directions of large, distinct variance in a cloud of noise.
    directions = numpy.linalg.qr(random.standard_normal((features, wanted)))[0]
    x = random.standard_normal((samples, wanted)) * [9, 6, 3] @ directions.T + random.standard_normal((samples, features)) / 4
    x = x.astype(numpy.float32)

    with rt.numpy_patch() as patch:
        pca = PCA(wanted, svd_solver="randomized", n_oversamples=20, iterated_power=7, random_state=0).fit(x)
        scores = pca.transform(x)
    print(f"{patch.products} products were routed; variances {', '.join(f'{v:.2f}' for v in pca.explained_variance_)}")

    centred = x.astype(numpy.float64) - x.mean(axis=0, dtype=numpy.float64)
    values, vectors = numpy.linalg.eigh(centred.T @ centred / (samples - 1))
    exact = vectors[:, ::-1][:, :wanted]
    cosines = numpy.abs(numpy.sum(exact * pca.components_.T, axis=0))
    # The seven iterations leave nothing of the noise; sums of `samples` float32 products are off by so many roundings at most.
    variances = numpy.abs(pca.explained_variance_ / values[::-1][:wanted] - 1) / ((samples + features) * UNIT)
    # Scores are products of `features` numbers, of which the centring has rounded each (twice), with the components as they are.
    magnitude = (numpy.abs(centred) + numpy.abs(pca.mean_)) @ numpy.abs(pca.components_.T.astype(numpy.float64))
    error = numpy.abs(scores - centred @ pca.components_.T.astype(numpy.float64)) / (magnitude * (features + samples + 4) * UNIT)
    print(f"components: smallest cosine {cosines.min():.7f}; largest error of its bound: variances {variances.max():.3f}, "
          f"scores {error.max():.3f}")
    right = cosines.min() > 0.9999 and variances.max() <= 1 and error.max() <= 1 and patch.products > 0
    print("right" if right else "wrong")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
