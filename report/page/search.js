// The best kernel so far, sample by sample.

const kAllProblems = "all";

/** x of a step, and of the end of a search. */
const searchPlace = (step, axis) => (axis === "s" ? step[1] : step[0]);
const searchEnd = (search, axis) => (axis === "s" ? search.seconds : search.samples);

/** One search as a staircase; y: of ns. */
function searchLine(device, search, axis, label, y, hue) {
  const p = device.problems[search.problem];
  const point = (step) => ({x: searchPlace(step, axis), y: y(step[2]), lines: [
    `${problemName(p)}, run ${search.run} (${search.began.slice(0, 10)})`, `sample ${step[0]}, ${significant(step[1])} s`, time(step[2])]});
  const data = search.steps.map(point);
  if (data.length > 0) data.push({x: searchEnd(search, axis), y: data[data.length - 1].y});
  return {type: "line", label, data, stepped: "after", borderWidth: 2, borderColor: hue, backgroundColor: hue,
          pointRadius: data.map((_, i) => (i < data.length - 1 ? 3 : 0)), pointHoverRadius: 6};
}

function renderSearch(device) {
  const select = byId("search-select"), axis = byId("search-axis");
  const searched = [...new Set(device.searches.map((s) => s.problem))];
  fillSelect(select, [[kAllProblems, "all, against their best"], ...searched.map((i) => [i, problemName(device.problems[i])])]);
  select.onchange = axis.onchange = () => drawSearch(device, select.value, axis.value);
  drawSearch(device, select.value, axis.value);
}

function drawSearch(device, chosen, axis) {
  const all = chosen === kAllProblems;
  const searches = device.searches.filter((s) => s.steps.length > 0 && (all || String(s.problem) === chosen));
  if (searches.length === 0) return draw("search", {empty: "No samples of tuned problems are stored in this file."});
  const best = (search) => search.steps[search.steps.length - 1][2];
  const lines = searches.map((search, i) => searchLine(
    device, search, axis, all ? problemName(device.problems[search.problem]) : `run ${search.run}`,
    (ns) => (all ? ns / best(search) : ns), lineColour(i)));
  const number = true;
  return draw("search", {
    description: "Time of the fastest kernel so far in each search.",
    table: table("Searches",
      [{name: "problem"}, {name: "run", number}, {name: "began"}, {name: "samples", number}, {name: "failed", number},
       {name: "seconds", number}, {name: "first", number}, {name: "best", number}, {name: "within 5 % after", number}],
      searches.map((s) => [problemName(device.problems[s.problem]), String(s.run), s.began.slice(0, 19).replace("T", " "), String(s.samples),
                           String(s.failed), significant(s.seconds), time(s.steps[0][2]), time(best(s)),
                           `${s.steps.find((step) => step[2] <= 1.05 * best(s))[0]} samples`])),
    config: {data: {datasets: lines}, options: {
      interaction: {mode: "nearest", intersect: false, axis: "xy"}, plugins: {legend: all ? {display: false} : legend()},
      scales: {x: {type: "linear", min: 0, title: {display: true, text: axis === "s" ? "seconds" : "samples"}},
               y: all ? logAxis("times the best of the search", times) : logAxis("kernel and packing", time)}}}});
}
