// Medians and spreads of samples.

/** NaN for no values. */
export function median(values) {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((x, y) => x - y);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Median absolute deviation from the median, over the median. */
export function spread(values) {
  const middle = median(values);
  return median(values.map(value => Math.abs(value - middle))) / middle;
}
