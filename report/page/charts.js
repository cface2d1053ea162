// What all charts share: colours of the page's theme, a table beside each chart, and the keyboard.

const charts = {};  // name -> Chart

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** "#rrggbb" with an opacity. */
const faint = (hex, opacity) => hex + Math.round(255 * opacity).toString(16).padStart(2, "0");
const levelKind = (level) => (level.startsWith("cache") ? "cache" : level);
const levelColour = (level) => colour({memory: "blue", cache: "teal", shared: "orange", link: "violet"}[levelKind(level)] ?? "grey");
const kLevelStyles = {memory: "circle", cache: "rect", shared: "triangle", link: "rectRot"};
const levelStyle = (level) => kLevelStyles[levelKind(level)] ?? "circle";

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches && !document.documentElement.dataset.theme;

/** Hues by the golden angle, so that any first few lie apart; green looks stronger than it is. */
function hueColour(index, lightness) {
  const hue = (index * 137.5 + 212) % 360, saturation = hue > 75 && hue < 170 ? 34 : 54;
  return `hsl(${hue.toFixed(0)}, ${saturation}%, ${lightness}%)`;
}
const lineColour = (index) => hueColour(index, isDark() ? 66 : 44);
/** Of cells with a letter in them. */
const kernelColour = (index) => hueColour(index, isDark() ? 34 + (index % 3) * 5 : 80 - (index % 3) * 6);
const kernelLetter = (index) => String.fromCharCode(65 + index);

/** A mix of the colours for "the host is faster" and "the device is faster". */
function scoreColour(score) {
  if (!known(score)) return colour("even");
  const strength = Math.min(1, Math.abs(Math.log2(score)) / 3);  // 8 times is as strong as it gets
  return faint(colour(score > 1 ? "device-side" : "host-side"), 0.15 + 0.85 * strength);
}

/** What a tooltip says of a point: the lines that the point, or its dataset, brings along. */
function linesOf(dataset, index) {
  return dataset.data[index]?.lines ?? dataset.lines?.[index] ?? [];
}

function defaults() {
  Chart.defaults.animation = false;
  Chart.defaults.maintainAspectRatio = false;
  Chart.defaults.color = colour("muted");
  Chart.defaults.borderColor = colour("rule");
  Chart.defaults.font.family = "system-ui, sans-serif";
  Chart.defaults.plugins.tooltip.displayColors = false;
  Chart.defaults.plugins.tooltip.callbacks.title = () => "";
  Chart.defaults.plugins.tooltip.callbacks.label = (item) => linesOf(item.dataset, item.dataIndex);
  Chart.defaults.plugins.legend.display = false;
}

/** Which colour is which; what is shown is chosen by controls, if at all. */
const legend = () =>
  ({display: true, position: "top", align: "start", onClick: () => {},
    labels: {boxWidth: 12, boxHeight: 12}});

/** A logarithmic axis that is labelled at 1, 2 and 5 of each decade, as far as there is room. */
function logAxis(title, format = (x) => significant(x)) {
  return {type: "logarithmic", title: {display: true, text: title},
          ticks: {callback: (x) => (/^[125]e/.test(Number(x).toExponential()) ? format(x) : null), maxRotation: 0, autoSkip: true, autoSkipPadding: 12}};
}

/** Points that the keyboard walks through: all that say something. */
function walkable(chart) {
  const points = [];
  chart.data.datasets.forEach((dataset, datasetIndex) => {
    if (!chart.isDatasetVisible(datasetIndex)) return;
    dataset.data.forEach((_, index) => {
      if (linesOf(dataset, index).length > 0) points.push({datasetIndex, index});
    });
  });
  return points;
}

function speak(text) {
  byId("spoken").textContent = text;
}

function walk(chart, event, onChoose) {
  const points = walkable(chart);
  const steps = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: "first", End: "last"};
  const at = points.findIndex((p) => chart.walked && p.datasetIndex === chart.walked.datasetIndex && p.index === chart.walked.index);
  if (event.key === "Enter" && at >= 0 && onChoose) onChoose(points[at]);
  if (event.key === "Escape") {
    chart.walked = null;
    chart.setActiveElements([]);
    chart.tooltip.setActiveElements([], {x: 0, y: 0});
    chart.update();
  }
  if (!(event.key in steps) || points.length === 0) return;
  event.preventDefault();
  const step = steps[event.key];
  const next = step === "first" ? 0 : step === "last" ? points.length - 1 : (at + step + points.length) % points.length;
  const point = chart.walked = points[at < 0 && step !== "last" ? 0 : next];
  chart.setActiveElements([point]);
  const place = chart.getDatasetMeta(point.datasetIndex).data[point.index].tooltipPosition();
  chart.tooltip.setActiveElements([point], place);
  chart.update();
  speak(linesOf(chart.data.datasets[point.datasetIndex], point.index).join(", "));
}

/**
 * Draws into the page's place for a chart. description: for who cannot see it; empty: what to say instead of a chart
 * without data; table: its data as an element; height in CSS pixels; onChoose: called with {datasetIndex, index}.
 */
function draw(name, {description, height = 340, config, table: asTable, empty, onChoose}) {
  const place = document.querySelector(`[data-chart="${name}"]`);
  charts[name]?.destroy();
  delete charts[name];
  if (empty) {
    place.replaceChildren(element("p", {class: "empty"}, empty));
    return null;
  }
  const open = place.querySelector("details")?.open ?? false;
  const canvas = element("canvas", {tabindex: "0", role: "img", "aria-label": `${description} The arrow keys read its points; a table follows.`});
  const drawing = element("div", {class: "drawing", style: `height:${height}px`}, canvas);
  const scrolled = element("div", {class: "table", tabindex: "0", role: "region", "aria-label": `${description} As a table.`}, asTable);
  const details = element("details", {}, element("summary", {}, "As a table"), scrolled);
  details.open = open;
  place.replaceChildren(drawing, element("p", {class: "hint"}, "Arrow keys: from point to point. Escape: none."), details);
  defaults();
  const chart = charts[name] = new Chart(canvas, config);
  canvas.addEventListener("keydown", (event) => walk(chart, event, onChoose));
  canvas.addEventListener("blur", () => { if (charts[name] === chart) walk(chart, {key: "Escape"}); });
  if (onChoose)
    canvas.addEventListener("click", (event) => {
      const [hit] = chart.getElementsAtEventForMode(event, "nearest", {intersect: true}, true);
      if (hit) onChoose({datasetIndex: hit.datasetIndex, index: hit.index});
    });
  return chart;
}

/** Height of a chart with a group of horizontal bars for each row. */
const barsHeight = (rows, bars) => 90 + rows * (bars * 11 + 10);

/** Names beside horizontal bars, shortened where there is little room. */
function nameAxis(names) {
  const most = innerWidth < 640 ? 16 : 48;
  return {type: "category", grid: {display: false},
          ticks: {autoSkip: false, callback: (_, i) => (names[i].length > most ? names[i].slice(0, most - 1) + "…" : names[i])}};
}
