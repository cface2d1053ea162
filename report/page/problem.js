// One tuned problem: its limits beside its time, its bytes, its rivals.

function problemText(p) {
  const parts = [`${p.kernel}: ${time(p.kernel_ns)}, ${rate(p.gflops)}`];
  if (p.pack_ns > 0) parts.push(`packing ${time(p.pack_ns)}`);
  if (p.limiter) {
    parts.push(`limited by ${limitNames(p)}, ${percent(p.limiter_share)} of the predicted time`,
               `it takes ${times(p.over_bound)} as long as its largest bound, ${limitName(p.largest_bound)}, alone would`);
    if (p.next_limiter) parts.push(`that lifted, ${limitName(p.next_limiter)} holds, ${times(p.if_lifted)} lower`);
  }
  const w = p.waves;
  parts.push(`${significant(w.workgroups, 9)} workgroups in ${significant(w.waves, 9)} waves (${percent(w.wave_efficiency)}), tiles ${percent(w.tile_efficiency)} full`);
  if (known(p.predicted_call_ns)) parts.push(`a call with operands in host memory is predicted to take ${time(p.predicted_call_ns)}`);
  return parts.join("; ") + ".";
}

function renderProblem(device) {
  const select = byId("problem-select");
  fillSelect(select, device.problems.map((p, i) => [i, problemName(p)]));
  select.onchange = () => drawProblem(device.problems[select.value]);
  drawProblem(device.problems[select.value]);
}

/** What the driver counted, if anything. */
function countersTable(p) {
  if (!p || !p.counted) return [];
  const rest = p.counted.counters_left_out;
  const value = (c) => c.unit === "bytes" ? bytes(c.value) : `${significant(c.value, 9)}${c.unit === "generic" ? "" : ` ${c.unit}`}`;
  return [table(`Counters of the driver, read in ${p.counted.passes} passes`, [{name: "driver's counter"}, {name: "of"}, {name: "value", number: true}],
    [...p.counted.counters.map((c) => [c.name, c.category, value(c)]), ...(rest > 0 ? [[`${rest} more, which rooftile report --problem shows`, "", ""]] : [])])];
}

function drawProblem(p) {
  const number = true;
  byId("problem-text").textContent = p ? problemText(p) : "";
  byId("problem-levels").replaceChildren(...(p ? [table("Levels",
    [{name: "level"}, {name: "bytes", number}, {name: "flop/byte", number}, {name: "roof", number}, {name: "bound", number}],
    p.levels.map((l) => [levelName(l.level), bytes(l.bytes) + (l.source === "counted" ? ` counted, ${bytes(l.modelled_bytes)} modelled` : ""), significant(l.intensity),
                         known(l.gbps) ? `${significant(l.gbps)} GB/s` : "not measured", time(l.bound_ns)]))] : []), ...countersTable(p));
  byId("problem-ranked").replaceChildren(...(p ? [table("Ranked kernels",
    [{name: "rank", number}, {name: "kernel"}, {name: "time", number}, {name: "packing", number}, {name: "of the best", number}, {name: "limiter"}],
    [p, ...p.alternatives].map((k, rank) => [String(rank), k.kernel, time(k.kernel_ns), k.pack_ns > 0 ? time(k.pack_ns) : "–",
                                             times(totalTime(k) / totalTime(p)), limitName(k.limiter)]))] : []));
  if (!p) return draw("bounds", {empty: "Nothing is tuned yet."});
  if (p.bounds.length === 0) return draw("bounds", {empty: "This device is not calibrated, so nothing is known of limits."});
  const bars = [{name: "measured", ns: p.kernel_ns, colour: "ink"},
                ...p.bounds.filter((b) => b.ns > 0).map((b) => ({name: limitName(b.limiter), ns: b.ns, colour: b.limiter === p.largest_bound ? "red" : "grey"}))];
  const names = bars.map((b) => b.name);
  return draw("bounds", {
    description: `Limits of ${problemName(p)} beside its measured time.`, height: barsHeight(bars.length, 2),
    table: table("Limits", [{name: "limit"}, {name: "at least", number}, {name: "of the time", number}],
                 bars.map((b) => [b.name, time(b.ns), percent(b.ns / p.kernel_ns)])),
    config: {type: "bar", options: {
      indexAxis: "y", interaction: {mode: "nearest", intersect: true},
      scales: {x: {beginAtZero: true, title: {display: true, text: "time"}, ticks: {callback: (ns) => time(ns), maxRotation: 0}}, y: nameAxis(names)}},
      data: {labels: names, datasets: [{label: "time", data: bars.map((b) => b.ns), backgroundColor: bars.map((b) => colour(b.colour)),
                                        lines: bars.map((b) => [b.name, time(b.ns), `${percent(b.ns / p.kernel_ns)} of the measured time`])}]}}});
}
