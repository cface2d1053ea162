// Rates over intensities: a line for each level of memory and each kind of arithmetic, a dot for each kernel and level.

const hiddenLevels = new Set();

function rooflineDots(device, level) {
  const dots = [];
  device.problems.forEach((p, problem) => {
    const at = p.levels.find((l) => l.level === level);
    if (!at || !known(at.intensity) || !known(at.gflops) || !known(at.gbps)) return;
    dots.push({x: at.intensity, y: at.gflops, problem, lines: [
      `${problemName(p)}, ${levelName(level)}`,
      p.kernel,
      `${rate(at.gflops)} at ${significant(at.intensity)} flop/byte (${bytes(at.bytes)}${at.source === "counted" ? " counted" : ""})`,
      ...(p.limiter ? [`limiter: ${limitNames(p)}`, `${times(p.over_bound)} the largest bound, ${limitName(p.largest_bound)}`] : []),
      ...(p.next_limiter ? [`that lifted: ${times(p.if_lifted)} lower, then ${limitName(p.next_limiter)}`] : []),
    ]});
  });
  return dots;
}

/** Names along the lines, so that nobody has to match colours; on a phone the controls above have to do. */
const roofNames = {
  id: "roofNames",
  afterDatasetsDraw(chart) {
    const {ctx, chartArea: area, scales} = chart;
    const roofs = chart.data.datasets.filter((dataset) => dataset.roof).map((dataset) => {
      const [from, to] = dataset.data.map((p) => ({x: scales.x.getPixelForValue(p.x), y: scales.y.getPixelForValue(p.y)}));
      return {dataset, from, to, slope: (to.y - from.y) / (to.x - from.x)};
    }).sort((x, y) => x.from.y - y.from.y);
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    ctx.font = "12px system-ui, sans-serif";
    let above = {y: -Infinity, shift: 0};
    for (const {dataset, from, to, slope} of roofs) {
      ctx.save();
      ctx.fillStyle = dataset.borderColor;
      if (slope === 0) {
        ctx.textAlign = "right";
        ctx.fillText(dataset.label, area.right - 6, to.y - 5);
      } else if (area.width > 500) {
        // From where the line enters the chart; a step further where the line above is close.
        const shift = from.y - above.y < 30 ? above.shift + 140 : 0;
        above = {y: from.y, shift};
        const y = Math.min(from.y, area.bottom - 8), x = from.x + (y - from.y) / slope + 10 + shift;
        ctx.translate(x, from.y + (x - from.x) * slope - 5);
        ctx.rotate(Math.atan(slope));
        ctx.fillText(dataset.label, 0, 0);
      }
      ctx.restore();
    }
    ctx.restore();
  },
};

function rooflineRanges(device, dots) {
  const peak = Math.max(...device.roofs.math.map((r) => r.gflops));
  const xs = dots.map((d) => d.x), ys = dots.map((d) => d.y);
  for (const level of device.roofs.levels) xs.push(peak / level.gbps);
  const [left, right] = [Math.min(...xs) / 3, Math.max(...xs) * 4];
  return {peak, left, right, bottom: Math.min(peak / 100, ...ys) / 2, top: Math.max(peak, ...ys) * 2};
}

function rooflineDatasets(device) {
  const shown = device.roofs.levels.filter((roof) => !hiddenLevels.has(roof.level));
  const dots = shown.map((roof) => rooflineDots(device, roof.level));
  const range = rooflineRanges(device, dots.flat());
  const fastest = Math.max(...shown.map((roof) => roof.gbps), 1e-9);
  const lines = shown.map((roof) => ({
    type: "line", roof: true, label: `${levelName(roof.level)} ${significant(roof.gbps)} GB/s`, borderWidth: 2, pointRadius: 0,
    pointHitRadius: 0, borderColor: levelColour(roof.level),
    data: [{x: range.left, y: range.left * roof.gbps}, {x: range.peak / roof.gbps, y: range.peak}]}));
  const peaks = device.roofs.math.map((roof) => ({
    type: "line", roof: true, label: `${roof.type} ${rate(roof.gflops)}`, borderWidth: 2, borderDash: [7, 4], pointRadius: 0,
    pointHitRadius: 0, borderColor: colour("red"),
    data: [{x: roof.gflops / fastest, y: roof.gflops}, {x: range.right, y: roof.gflops}]}));
  const scatters = shown.map((roof, i) => ({
    type: "scatter", label: roof.level, data: dots[i], pointStyle: levelStyle(roof.level), radius: 6, hoverRadius: 9,
    borderColor: levelColour(roof.level), backgroundColor: faint(levelColour(roof.level), 0.45)}));
  return {range, datasets: [...scatters, ...lines, ...peaks]};
}

function rooflineTable(device) {
  const rows = device.problems.flatMap((p) => p.levels.map((l) => [
    problemName(p), p.kernel, levelName(l.level), bytes(l.bytes), significant(l.intensity), known(l.gflops) ? rate(l.gflops) : "–",
    known(l.gbps) ? `${significant(l.gbps)} GB/s` : "not measured", time(l.bound_ns), limitNames(p), times(p.over_bound),
    p.next_limiter ? `${limitName(p.next_limiter)}, ${times(p.if_lifted)}` : "–"]));
  const number = true;
  return table("Levels of each tuned kernel",
    [{name: "problem"}, {name: "kernel"}, {name: "level"}, {name: "bytes", number}, {name: "flop/byte", number}, {name: "rate", number},
     {name: "roof", number}, {name: "bound", number}, {name: "limiter"}, {name: "over the largest bound", number}, {name: "next bound, lower"}], rows);
}

function renderRoofline(device, showProblem) {
  const controls = device.roofs.levels.map((roof) => {
    const box = element("input", {type: "checkbox"});
    box.checked = !hiddenLevels.has(roof.level);
    box.addEventListener("change", () => {
      if (box.checked) hiddenLevels.delete(roof.level); else hiddenLevels.add(roof.level);
      drawRoofline(device, showProblem);
    });
    return element("label", {}, box, element("span", {class: "swatch", style: `background:${levelColour(roof.level)}`}), levelName(roof.level));
  });
  byId("roofline-levels").replaceChildren(...controls);
  drawRoofline(device, showProblem);
}

function drawRoofline(device, showProblem) {
  if (device.roofs.math.length === 0)
    return draw("roofline", {empty: "This device is not calibrated, so its roofs are not known."});
  const {range, datasets} = rooflineDatasets(device);
  return draw("roofline", {
    description: `Roofline of ${device.name}: GFLOP/s over flops a byte.`, height: innerWidth < 640 ? 360 : 480,
    table: rooflineTable(device),
    onChoose: ({datasetIndex, index}) => {
      const dot = datasets[datasetIndex].data[index];
      if (dot.problem !== undefined) showProblem(dot.problem);
    },
    config: {data: {datasets}, plugins: [roofNames], options: {
      interaction: {mode: "nearest", intersect: true},
      scales: {x: {...logAxis("flop/byte"), min: range.left, max: range.right},
               y: {...logAxis("GFLOP/s"), min: range.bottom, max: range.top}}}}});
}
