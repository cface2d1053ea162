"""Risk of many portfolios: the sample covariance S = X'X / (days - 1) of centred returns, the marginal risks W S of all
portfolios in one product, and from their rows each portfolio's variance w'S w and what each asset contributes to its
volatility. Then the portfolio of minimum variance, which solves a system with S: its condition number is told to the product,
and from 1000 on the covariance is summed in float64.

Exit code 0: covariance, volatilities, contributions and the minimum-variance weights lie within bounds of their float64
values, which are derived below.                                              portfolio.py [PORTFOLIOS [ASSETS [DAYS]]]
"""
import sys
import time

import numpy
import rooftile as rt

UNIT = 2.0**-24  # relative error of one float32 rounding


def market(portfolios, assets, days):
    """Daily returns (days x assets) that follow five common factors, and long-only weights (portfolios x assets)."""
    random = numpy.random.default_rng(4)
    factors = random.standard_normal((days, 5)) * [0.010, 0.006, 0.004, 0.003, 0.002]
    exposures = numpy.hstack([1 + 0.2 * random.standard_normal((assets, 1)), random.standard_normal((assets, 4))])
    own = random.standard_normal((days, assets)) * random.uniform(0.002, 0.02, assets)
    returns = factors @ exposures.T + own + 0.0003
    weights = random.exponential(size=(portfolios, assets)) * (random.random((portfolios, assets)) < 0.2)
    weights[:, 0] += 1e-3  # no portfolio is empty
    weights /= weights.sum(axis=1, keepdims=True)
    return returns.astype(numpy.float32), weights.astype(numpy.float32)


def multiply(session, what, a, b, **options):
    """The product, its decision, and a line that says where it ran, how long it took, and why there."""
    start = time.perf_counter()
    c = session.matmul(a, b, **options)
    seconds = time.perf_counter() - start
    decision = session.last_decision()
    print(f"{what:<30} {a.shape[0]:5} x {b.shape[1]:4} x {a.shape[1]:4}  {decision.tier:6} {seconds * 1e3:8.2f} ms  "
          f"{decision.reason}{decision.kernel and ': '}{decision.kernel}")
    return c, decision


def covariance_bound(centred, decision):
    """Of an element's error: float32 roundings of centring (2), of the scale and its product (2), of the result, and of
    `days` products and sums unless these are float64; three more stand for the terms of higher order."""
    days = len(centred)
    size = numpy.abs(centred.T).astype(numpy.float64) @ numpy.abs(centred) / (days - 1)
    return ((0 if decision.tier == "host64" else days) + 8) * UNIT * size


def minimum_variance(covariance):
    weights = numpy.linalg.solve(covariance.astype(numpy.float64), numpy.ones(len(covariance)))
    return weights / weights.sum()


def minimum_variance_bound(exact, bound, weights):
    """Of the error's norm: the system's solution is off by kappa * e / (1 - kappa * e) for a relative error e of its
    matrix; dividing by the sum of n elements adds sqrt(n) |weights| times that."""
    e = numpy.linalg.norm(bound) / numpy.linalg.norm(exact, 2) * numpy.linalg.cond(exact)
    size = numpy.linalg.norm(weights)
    return e / (1 - e) * size * (1 + numpy.sqrt(len(weights)) * size) * 1.01 if e < 0.5 else numpy.inf


def worst(error, bound):
    return numpy.max(numpy.abs(error) / numpy.maximum(bound, numpy.finfo(numpy.float64).tiny))


def main(portfolios=4000, assets=300, days=1000):
    if min(portfolios, assets) < 1 or days <= assets:
        sys.exit("portfolio.py: more days than assets are needed, or the covariance has no inverse")
    returns, weights = market(portfolios, assets, days)
    centred = (returns - returns.mean(axis=0, dtype=numpy.float64)).astype(numpy.float32)

    with rt.Session() as session:
        covariance, decision = multiply(session, "covariance", centred.T, centred, alpha=1 / (days - 1))
        bound = covariance_bound(centred, decision)
        marginal, first = multiply(session, "marginal risks", weights, covariance)
        kappa = numpy.linalg.cond(covariance.astype(numpy.float64))
        again, decision = multiply(session, f"covariance, kappa {kappa:.0f}", centred.T, centred, alpha=1 / (days - 1),
                                   kappa=kappa)
        again_bound = covariance_bound(centred, decision)
    if first.tier != "device":
        print(f"not on a device: {first.veto or 'the host is predicted to be faster'}")

    wide = weights.astype(numpy.float64)
    volatility = numpy.sqrt(numpy.sum(wide * marginal, axis=1))
    contributions = wide * marginal / volatility[:, None]
    top = numpy.argsort(-contributions[0])[:3]
    print(f"portfolio 0: volatility {volatility[0]:.4%} a day, of which " +
          ", ".join(f"{contributions[0, i] / volatility[0]:.1%} asset {i}" for i in top))

    # The same in float64, and how far float32 may be from it.
    exact = numpy.cov(returns.astype(numpy.float64), rowvar=False).reshape(assets, assets)
    exact_marginal = wide @ exact
    exact_volatility = numpy.sqrt(numpy.sum(wide * exact_marginal, axis=1))
    marginal_bound = wide @ bound + (assets + 3) * UNIT * (wide @ (numpy.abs(exact) + bound))
    volatility_bound = numpy.sum(wide * marginal_bound, axis=1) / (volatility + exact_volatility)
    contribution_bound = wide * (marginal_bound + numpy.abs(exact_marginal) *
                                 (volatility_bound / exact_volatility)[:, None]) / volatility[:, None]
    lightest, float32_lightest = minimum_variance(again), minimum_variance(covariance)
    exact_lightest = minimum_variance(exact)
    lightest_bound = minimum_variance_bound(exact, again_bound, exact_lightest)
    errors = {
        "covariance": worst(covariance - exact, bound),
        "volatilities": worst(volatility - exact_volatility, volatility_bound),
        "contributions": worst(contributions - wide * exact_marginal / exact_volatility[:, None], contribution_bound),
        "minimum variance": numpy.linalg.norm(lightest - exact_lightest) / lightest_bound,
    }
    print("largest error of its bound: " + ", ".join(f"{what} {error:.3f}" for what, error in errors.items()))
    print(f"minimum variance: weights off by {numpy.linalg.norm(lightest - exact_lightest):.1e} as computed for kappa, by "
          f"{numpy.linalg.norm(float32_lightest - exact_lightest):.1e} from the first covariance")
    right = max(errors.values()) <= 1
    print("right" if right else "wrong")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
