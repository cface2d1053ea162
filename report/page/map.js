// The runtime's choice over m and n: which kernel, and whether the device or the host.

/** Letters in the cells, so that kernels can be told apart without colours. */
const cellLetters = {
  id: "cellLetters",
  afterDatasetsDraw(chart) {
    const {ctx} = chart;
    ctx.save();
    ctx.font = "11px system-ui, sans-serif";
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillStyle = colour("ink");
    chart.data.datasets.forEach((row, i) => chart.getDatasetMeta(i).data.forEach((cell, j) => {
      const {x, y, width, height} = cell.getProps(["x", "y", "width", "height"], true);
      if (row.letters && width > 11) ctx.fillText(row.letters[j], x, y + height / 2);
    }));
    ctx.restore();
  },
};

function mapCell(map, k, n, m) {
  const i = (k * map.sizes.length + n) * map.sizes.length + m;
  return {kernel: map.kernel[i], ns: map.ns[i], score: map.score[i]};
}

function cellText(map, k, n, m) {
  const cell = mapCell(map, k, n, m);
  const sizes = [map.sizes[m], map.sizes[n], map.depths[k]];
  const lines = [sizes.join("×")];
  if (cell.kernel < 0) return [...lines, "no kernel is legal"];
  lines.push(`${kernelLetter(cell.kernel)}: ${map.kernels[cell.kernel]}`);
  lines.push(`${time(cell.ns)} expected, ${rate((2 * sizes[0] * sizes[1] * sizes[2]) / cell.ns)}`);
  if (known(cell.score))
    lines.push(cell.score > 1 ? `device: ${times(cell.score)} as fast as the host` : `host: ${times(1 / cell.score)} as fast as the device`);
  return lines;
}

function renderMap(device) {
  const selects = ["map-class", "map-depth", "map-colour"].map(byId);
  const [ofClass, depth] = selects;
  fillSelect(ofClass, device.classes.map((c, i) => [i, `${c.signature} (${c.tuned} tuned)`]));
  fillSelect(depth, (device.classes[0]?.map.depths ?? []).map((k, i) => [i, String(k)]));
  if (!depth.dataset.touched) depth.value = Math.floor(depth.options.length / 2);
  depth.oninput = () => { depth.dataset.touched = "yes"; };
  const redraw = () => drawMap(device, Number(ofClass.value), Number(depth.value), selects[2].value);
  for (const select of selects) select.onchange = redraw;
  redraw();
}

function mapLegend(map, used, colouring) {
  const items = colouring === "kernel"
    ? used.map((kernel) => [kernelColour(kernel), `${kernelLetter(kernel)}: ${map.kernels[kernel]}`])
    : [[scoreColour(8), "device, 8× or more"], [scoreColour(1.4), "device, a little"], [scoreColour(0.7), "host, a little"],
       [scoreColour(1 / 8), "host, 8× or more"]];
  byId("map-legend").replaceChildren(...items.map(([hue, text]) =>
    element("li", {}, element("span", {class: "swatch", style: `background:${hue}`}), text)));
}

function drawMap(device, classIndex, k, colouring) {
  const map = device.classes[classIndex]?.map;
  if (!map) {
    byId("map-legend").replaceChildren();
    return draw("map", {empty: "The map needs a calibrated device with tuned problems."});
  }
  const indices = map.sizes.map((_, i) => i);
  const rows = indices.map((n) => indices.map((m) => mapCell(map, k, n, m)));
  mapLegend(map, [...new Set(rows.flat().map((cell) => cell.kernel))].filter((x) => x >= 0).sort((x, y) => x - y), colouring);
  const hue = (cell) => (colouring === "score" ? scoreColour(cell.score) : cell.kernel < 0 ? colour("even") : kernelColour(cell.kernel));
  const letter = (cell) => (colouring === "score" ? "" : cell.kernel < 0 ? "–" : kernelLetter(cell.kernel));
  const short = (size) => (size >= 1024 ? `${size / 1024}k` : String(size));
  return draw("map", {
    description: `Chosen kernels over m and n at k = ${map.depths[k]}.`, height: Math.min(560, Math.max(320, innerWidth * 0.8)),
    table: table("Chosen kernels, m across, n down", [{name: "n \\ m"}, ...map.sizes.map((m) => ({name: String(m)}))],
      rows.map((row, n) => [String(map.sizes[n]), ...row.map((cell) =>
        colouring === "score" ? (known(cell.score) ? significant(cell.score, 2) : "–") : cell.kernel < 0 ? "–" : kernelLetter(cell.kernel))])),
    config: {type: "bar", plugins: [cellLetters], options: {
      interaction: {mode: "point", intersect: true},
      scales: {x: {grid: {display: false}, title: {display: true, text: "m"}, ticks: {maxRotation: 0}},
               y: {min: 0, max: map.sizes.length, grid: {display: false}, title: {display: true, text: "n"},
                   afterBuildTicks: (axis) => { axis.ticks = indices.map((n) => ({value: n + 0.5})); },
                   ticks: {autoSkip: false, callback: (x) => short(map.sizes[Math.floor(x)])}}}},
      data: {labels: map.sizes.map(short), datasets: rows.map((row, n) => ({
        label: `n = ${map.sizes[n]}`, grouped: false, barPercentage: 1, categoryPercentage: 1, borderWidth: 1, borderSkipped: false,
        borderColor: colour("surface"), data: row.map(() => [n, n + 1]), backgroundColor: row.map(hue), letters: row.map(letter),
        lines: row.map((_, m) => cellText(map, k, n, m))}))}}});
}
