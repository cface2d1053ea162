// How much faster tuned kernels are than what a program had before.

const kMostRows = 40;  // of a bar chart; tables have all

/** The largest problems, largest first: what there is room for. */
const mostWork = (problems) => [...problems].sort((x, y) => flops(y) - flops(x)).slice(0, kMostRows);

const kBaselines = [
  {field: "default_ns", name: "default kernel", colour: "blue"},
  {field: "naive_ns", name: "naive kernel", colour: "grey"},
  {field: "predicted_host_ns", name: "host (predicted)", colour: "orange"},
];

/** Bars begin at 1: nothing gained. */
const ratioAxis = (title) => logAxis(title, (x) => times(x));

function renderGains(device) {
  if (device.problems.length === 0) return draw("gains", {empty: "Nothing is tuned yet."});
  const shown = mostWork(device.problems);
  const gain = (p, field) => (known(p[field]) && p[field] > 0 ? p[field] / totalTime(p) : null);
  const names = shown.map(problemName);
  const datasets = kBaselines.map((baseline) => ({
    label: baseline.name, base: 1, backgroundColor: colour(baseline.colour), barPercentage: 0.9, categoryPercentage: 0.85,
    skipNull: true, data: shown.map((p) => gain(p, baseline.field)),
    lines: shown.map((p) => (known(gain(p, baseline.field))
      ? [problemName(p), p.kernel, `${baseline.name}: ${time(p[baseline.field])}, tuned: ${time(totalTime(p))}`, times(gain(p, baseline.field))] : [])),
  }));
  const number = true;
  return draw("gains", {
    description: "Time of other kernels and of the host over the tuned kernel's.", height: barsHeight(shown.length, 3),
    table: table("Gains of tuned kernels",
      [{name: "problem"}, {name: "kernel"}, {name: "tuned", number}, ...kBaselines.flatMap((b) => [{name: b.name, number}, {name: "gain", number}])],
      device.problems.map((p) => [problemName(p), p.kernel, time(totalTime(p)),
                                  ...kBaselines.flatMap((b) => [time(p[b.field]), times(gain(p, b.field))])])),
    config: {type: "bar", data: {labels: names, datasets}, options: {
      indexAxis: "y", interaction: {mode: "nearest", intersect: true}, plugins: {legend: legend()},
      scales: {x: ratioAxis("times as long as the tuned kernel"), y: nameAxis(names)}}}});
}
