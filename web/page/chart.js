// The roofline as inline SVG: intensity over GFLOP/s, both logarithmic.

const kSvg = 'http://www.w3.org/2000/svg';
const kWidest = 640, kHeight = 360, kLeft = 62, kRight = 20, kTop = 14, kBottom = 44;
const kCharacter = 8;  // Width of a label's characters, at most.

function element(name, attributes, text) {
  const made = document.createElementNS(kSvg, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Powers of ten from the one at or below `low` to the one at or above `high`. */
function decades(low, high) {
  const first = Math.floor(Math.log10(low)), last = Math.max(first + 1, Math.ceil(Math.log10(high)));
  return Array.from({length: last - first + 1}, (_, i) => 10 ** (first + i));
}

/**
 * Draws into an empty <svg>. `roof`: {peak: GFLOP/s, bandwidth: GB/s}; `points`: [{label, intensity, gflops, kind}].
 */
export function drawRoofline(svg, roof, all) {
  const points = all.filter(point => point.gflops > 0 && Number.isFinite(point.gflops));
  // As wide as it is shown, so that texts keep their size.
  const width = Math.min(kWidest, Math.max(320, svg.clientWidth || kWidest));
  const ridge = roof.peak / roof.bandwidth;
  const xs = decades(Math.min(ridge, ...points.map(p => p.intensity)) / 3, 3 * Math.max(ridge, ...points.map(p => p.intensity)));
  const ys = decades(Math.min(roof.peak / 20, ...points.map(p => p.gflops)), 1.2 * Math.max(roof.peak, ...points.map(p => p.gflops)));
  const scale = (value, ticks, from, to) =>
      from + (to - from) * Math.log(value / ticks[0]) / Math.log(ticks.at(-1) / ticks[0]);
  const x = value => scale(value, xs, kLeft, width - kRight), y = value => scale(value, ys, kHeight - kBottom, kTop);
  svg.replaceChildren();
  svg.setAttribute('viewBox', `0 0 ${width} ${kHeight}`);
  for (const tick of xs) {
    svg.append(element('line', {x1: x(tick), x2: x(tick), y1: kTop, y2: kHeight - kBottom, class: 'grid'}));
    svg.append(element('text', {x: x(tick), y: kHeight - kBottom + 16, class: 'tick', 'text-anchor': 'middle'}, String(+tick.toPrecision(1))));
  }
  for (const tick of ys) {
    svg.append(element('line', {x1: kLeft, x2: width - kRight, y1: y(tick), y2: y(tick), class: 'grid'}));
    svg.append(element('text', {x: kLeft - 6, y: y(tick) + 4, class: 'tick', 'text-anchor': 'end'}, String(+tick.toPrecision(1))));
  }
  svg.append(element('text', {x: (kLeft + width) / 2, y: kHeight - 8, class: 'axis', 'text-anchor': 'middle'}, 'flops a byte of A, B and C'));
  svg.append(element('text', {transform: `translate(14 ${kHeight / 2}) rotate(-90)`, class: 'axis', 'text-anchor': 'middle'}, 'GFLOP/s'));
  const low = Math.max(xs[0], ys[0] / roof.bandwidth);
  svg.append(element('polyline', {
    class: 'roof', points: [[low, low * roof.bandwidth], [ridge, roof.peak], [xs.at(-1), roof.peak]].map(([i, g]) => `${x(i)},${y(g)}`).join(' '),
  }));
  const labels = [];
  for (const {label, intensity, gflops, kind} of [...points].sort((p, q) => q.gflops - p.gflops)) {
    const at = {x: x(intensity), y: y(gflops)};
    svg.append(element('circle', {cx: at.x, cy: at.y, r: 5, class: `point ${kind}`}));
    // Beside the point where there is room, else across it; labels of points that lie close to each other below one another.
    const room = kCharacter * label.length + 10;
    const right = at.x + room < width, left = !right && at.x - room > kLeft;
    const text = Math.max(at.y + (right || left ? 4 : 19), (labels.at(-1) ?? -Infinity) + 15);
    labels.push(text);
    const place = right ? {x: at.x + 10, 'text-anchor': 'start'} : {x: left ? at.x - 10 : width - kRight, 'text-anchor': 'end'};
    svg.append(element('text', {...place, y: text, class: 'label'}, label));
  }
}
