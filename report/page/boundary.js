// Where the device takes over from the host, and why at a chosen point.

const kTiers = [{field: "device_ns", name: "device", colour: "device-side"}, {field: "host_ns", name: "host, all threads", colour: "host-side"},
                {field: "host1_ns", name: "host, one thread", colour: "grey"}];
const kFactors = {
  size_vs_threshold: "share of the device's time that is work", arithmetic_intensity: "device's roof over the host's",
  gpu_class: "what shared memory saves in copies", vendor_tuning: "share of its roof that each side attains",
  fusion: "passes that only the host needs", sparsity: "reserved: always 1", precision_risk: "price of checking",
};

/** Shades the sizes at which the device answers. */
const deviceBand = {
  id: "deviceBand",
  beforeDatasetsDraw(chart, _, {sizes, tiers}) {
    if (!sizes) return;
    const {ctx, chartArea: area, scales} = chart;
    ctx.save();
    ctx.fillStyle = faint(colour("device-side"), 0.1);
    const edge = (i) => (i <= 0 ? area.left : i >= sizes.length ? area.right
      : scales.x.getPixelForValue(Math.sqrt(sizes[i - 1] * sizes[i])));
    tiers.forEach((tier, i) => {
      if (tier === "device") ctx.fillRect(edge(i), area.top, edge(i + 1) - edge(i), area.height);
    });
    ctx.restore();
  },
};

function renderBoundary(device) {
  const [ofClass, depth, size] = ["boundary-class", "boundary-depth", "boundary-size"].map(byId);
  fillSelect(ofClass, device.classes.map((c, i) => [i, `${c.signature} (${c.tuned} tuned)`]));
  const line = device.classes[0]?.boundary;
  fillSelect(depth, (line?.depths ?? []).map((k, i) => [i, k === 0 ? "k = m" : String(k)]));
  size.max = Math.max(0, (line?.sizes.length ?? 1) - 1);
  if (!size.dataset.touched) size.value = Math.round(0.75 * size.max);
  size.disabled = !line;
  const point = () => drawFactors(device, Number(ofClass.value), Number(depth.value), Number(size.value));
  const redraw = () => {
    drawBoundary(device, Number(ofClass.value), Number(depth.value), (index) => { size.value = index; point(); });
    point();
  };
  ofClass.onchange = depth.onchange = redraw;
  size.oninput = () => { size.dataset.touched = "yes"; point(); };
  redraw();
}

/** Columns of one depth. */
function boundaryRow(line, depth) {
  const from = depth * line.sizes.length, to = from + line.sizes.length;
  return (column) => column.slice(from, to);
}

function boundaryPoint(line, depth, i) {
  const at = depth * line.sizes.length + i, m = line.sizes[i], k = line.depths[depth] || m;
  return {sizes: `${m}×${m}×${k}`, tier: line.tier[at], score: line.score[at], veto: line.veto[at], device_ns: line.device_ns[at],
          host_ns: line.host_ns[at], host1_ns: line.host1_ns[at],
          factors: Object.keys(kFactors).map((name) => ({name, value: line.factors[name].value[at], ns: line.factors[name].ns[at]}))};
}

function boundaryText(point) {
  const host = Math.min(point.host_ns ?? Infinity, point.host1_ns ?? Infinity);
  if (point.veto) return `${point.sizes}: the host answers; the device is out of the race: ${point.veto}.`;
  const ratio = point.score > 1 ? `${times(point.score)} as fast as the host` : `the host is ${times(1 / point.score)} as fast`;
  return `${point.sizes}: ${point.tier}. Device ${time(point.device_ns)}, host ${time(host)}; score ${significant(point.score)} (${ratio}).`;
}

function drawBoundary(device, classIndex, depth, choose) {
  const line = device.classes[classIndex]?.boundary;
  if (!line) return draw("boundary", {empty: "Predictions need a calibrated device and host, and tuned problems."});
  const row = boundaryRow(line, depth), points = line.sizes.map((_, i) => boundaryPoint(line, depth, i));
  const number = true;
  return draw("boundary", {
    description: "Predicted times of device and host over m = n.", onChoose: ({index}) => choose(index),
    table: table("Predicted times", [{name: "problem"}, ...kTiers.map((t) => ({name: t.name, number})), {name: "score", number}, {name: "answers"}],
                 points.map((p) => [p.sizes, ...kTiers.map((t) => time(p[t.field])), significant(p.score), p.tier])),
    config: {type: "line", plugins: [deviceBand], options: {
      interaction: {mode: "nearest", intersect: false, axis: "x"},
      plugins: {legend: legend(), deviceBand: {sizes: line.sizes, tiers: row(line.tier)}},
      scales: {x: logAxis("m = n"), y: logAxis("time of a call", time)}},
      data: {datasets: kTiers.map((tier) => ({
        label: tier.name, borderColor: colour(tier.colour), backgroundColor: colour(tier.colour), borderWidth: 2, pointRadius: 2, pointHoverRadius: 6,
        data: row(line[tier.field]).map((ns, i) => ({x: line.sizes[i], y: ns, lines: known(ns) ? [`${tier.name}: ${time(ns)}`, ...(tier.field === "device_ns" ? [boundaryText(points[i])] : [])] : []}))}))}}});
}

function drawFactors(device, classIndex, depth, i) {
  const line = device.classes[classIndex]?.boundary;
  byId("boundary-size-text").textContent = line ? String(line.sizes[i]) : "";
  byId("boundary-text").textContent = line ? boundaryText(boundaryPoint(line, depth, i)) : "";
  if (!line) return draw("factors", {empty: "No factors without predictions."});
  const point = boundaryPoint(line, depth, i);
  if (point.veto) return draw("factors", {empty: "No factors: the device is out of the race."});
  const bars = [...point.factors, {name: "score", value: point.score, ns: point.device_ns - Math.min(point.host_ns, point.host1_ns ?? Infinity)}];
  const names = bars.map((b) => b.name.replaceAll("_", " "));
  const cost = (b) => `${b.ns > 0 ? "costs" : "saves"} the device ${time(Math.abs(b.ns))}`;
  const number = true;
  return draw("factors", {
    description: `The seven factors of ${point.sizes} and their product.`, height: barsHeight(bars.length, 1.6),
    table: table("Factors", [{name: "factor"}, {name: "value", number}, {name: "costs the device", number}, {name: "is"}],
                 bars.map((b, j) => [names[j], significant(b.value), `${b.ns > 0 ? "+" : ""}${time(b.ns)}`, kFactors[b.name] ?? "host's time over device's"])),
    config: {type: "bar", options: {
      indexAxis: "y", interaction: {mode: "nearest", intersect: true},
      scales: {x: ratioAxis("right of 1: for the device"), y: nameAxis(names)}},
      data: {labels: names, datasets: [{label: "factor", base: 1, data: bars.map((b) => b.value),
        backgroundColor: bars.map((b) => (b.name === "score" ? colour("ink") : colour(b.value >= 1 ? "device-side" : "host-side"))),
        lines: bars.map((b, j) => [names[j], `${times(b.value)}, ${cost(b)}`, kFactors[b.name] ?? "host's time over device's"])}]}}});
}
