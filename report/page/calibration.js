// What the device and the host can do, how sure that is, and what has changed since the last time.

function renderCalibration(device) {
  const figures = device.calibration;
  byId("calibration-text").textContent = !device.calibrated_at ? "" :
    `Measured ${device.calibrated_at.slice(0, 16).replace("T", " ")} UTC` +
    (device.calibrated_before ? `; diamonds: ${device.calibrated_before.slice(0, 16).replace("T", " ")} UTC, filled where the spreads of both do not explain the difference.`
                              : "; there is no calibration before it to show drift against.") +
    " Bars: the median absolute deviation around the median, in percent of it.";
  if (figures.length === 0) return draw("calibration", {empty: "Not calibrated yet: `rooftile tune` calibrates."});
  const names = figures.map((f) => f.name);
  const spread = figures.map((f) => (f.value > 0 ? f.mad / f.value : 0));
  // A bar that nobody can see says less than a thin one.
  const visible = 0.002;
  const text = (f) => [f.name, `${significant(f.value, 4)} ${f.unit} ± ${significant(f.mad, 2)} (${f.count} measurements)`,
                       ...(known(f.drift) ? [`before: ${significant(f.before, 4)}, drift ${f.drift > 0 ? "+" : ""}${percent(f.drift)}${f.drifted ? ", more than the spreads" : ""}`] : [])];
  const before = figures.map((f, i) => ({f, i})).filter(({f}) => known(f.before) && f.value > 0);
  const number = true;
  return draw("calibration", {
    description: "Spread of each calibrated figure and its value the time before.", height: barsHeight(figures.length, 0.9),
    table: table("Calibration", [{name: "figure"}, {name: "median", number}, {name: "unit"}, {name: "spread (MAD)", number}, {name: "measurements", number},
                                 {name: "before", number}, {name: "drift", number}],
                 figures.map((f) => [f.name, significant(f.value, 5), f.unit, significant(f.mad), String(f.count), significant(f.before, 5),
                                     known(f.drift) ? `${f.drift > 0 ? "+" : ""}${percent(f.drift)}${f.drifted ? " *" : ""}` : "–"])),
    config: {data: {labels: names, datasets: [
      {type: "scatter", label: "before", data: before.map(({f, i}) => ({x: f.before / f.value - 1, y: names[i], lines: text(f)})), pointStyle: "rectRot", radius: 6,
       borderWidth: 2, borderColor: colour("orange"), backgroundColor: before.map(({f}) => (f.drifted ? colour("orange") : "transparent"))},
      {type: "bar", label: "spread", data: spread.map((s) => [-Math.max(s, visible), Math.max(s, visible)]), backgroundColor: colour("blue"),
       borderSkipped: false, barPercentage: 0.8, lines: figures.map(text)}]},
      options: {indexAxis: "y", interaction: {mode: "nearest", intersect: true}, plugins: {legend: device.calibrated_before ? legend() : {display: false}},
                scales: {x: {type: "linear", title: {display: true, text: "against the median"}, ticks: {callback: percent}}, y: nameAxis(names)}}}});
}
