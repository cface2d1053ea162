// The device in a few numbers, and what is missing.

const geometricMean = (values) => Math.exp(values.reduce((sum, x) => sum + Math.log(x), 0) / values.length);

function notices(device) {
  const list = [];
  const advice = (problem, what) => list.push(`${problem}: ${what}`);
  if (!device.calibrated_at) advice("Not calibrated", "there are no roofs, bounds and predictions; `rooftile tune` calibrates.");
  if (device.problems.length === 0) advice("No certified kernel yet", `${device.advice}.`);
  if (device.stale.length > 0)
    advice(`${device.stale.length} ranked lists are not used`,
           `${device.stale.slice(0, 3).map((s) => `${s.problem} (${s.reason})`).join("; ")}${device.stale.length > 3 ? "; …" : ""}. ` +
           "`rooftile tune --refresh` certifies and times them again.");
  if (device.problems_left_out > 0)
    advice(`${device.problems_left_out} smaller problems are left out`, "`rooftile report --json` has all.");
  if (device.classes_left_out > 0)
    advice(`${device.classes_left_out} classes are left out of the maps`, "`rooftile report --html FILE --device NAME` has more room for one device.");
  if (kData.devices_left_out > 0)
    advice(`${kData.devices_left_out} devices are left out`, "`rooftile report --html FILE --device NAME` chooses others.");
  return list;
}

function renderOverview(device) {
  byId("notices").replaceChildren(...notices(device).map((text) => element("p", {class: "notice"}, text)));
  const gains = device.problems.filter((p) => known(p.default_ns)).map((p) => p.default_ns / totalTime(p));
  const best = device.problems.reduce((x, p) => (!x || p.gflops > x.gflops ? p : x), null);
  const counts = {};
  for (const p of device.problems) if (p.limiter) counts[p.limiter] = (counts[p.limiter] ?? 0) + 1;
  const limits = Object.entries(counts).sort((x, y) => y[1] - x[1]).map(([limiter, count]) => `${limitName(limiter)} ${count}`);
  const ratios = device.calibration_ratios;
  const cards = [
    ["Device", device.name, `${device.kind}, ${device.driver}`],
    ["Calibrated", device.calibrated_at ? device.calibrated_at.slice(0, 16).replace("T", " ") : "never", "UTC"],
    ["Tuned problems", String(device.problems.length), `${significant(device.samples, 6)} samples, ${device.failed} of them failures`],
    ["Over the default kernel", gains.length ? times(geometricMean(gains)) : "–", "geometric mean over problems"],
    ["Fastest", best ? rate(best.gflops) : "–", best ? `${problemName(best)}, ${percent(best.roofline_share)} of its roof` : ""],
    ["Limited by", limits[0] ?? "–", limits.slice(1).join(", ")],
    ["Device : host", device.calibrated_at ? `${times(ratios.compute)} compute` : "–",
     device.calibrated_at ? `${times(ratios.bandwidth)} bandwidth, ${times(ratios.latency)} latency` : ""],
  ];
  byId("cards").replaceChildren(...cards.map(([name, value, note]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, note)))));
}
