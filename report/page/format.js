"use strict";
// Numbers as text, and elements made of text: nothing of the database ever becomes markup.

const kData = JSON.parse(document.getElementById("data").textContent);

const known = (x) => x !== null && x !== undefined;
const significant = (x, digits = 3) =>
  !known(x) ? "–" : Math.abs(x) >= 10 ** digits ? Math.round(x).toLocaleString("en") : String(Number(x.toPrecision(digits)));
const percent = (x) => (known(x) ? `${significant(100 * x)} %` : "–");
const times = (x) => (known(x) ? `${significant(x)}×` : "–");

/** The largest unit in which the number is at least 1. */
function scaled(x, units) {
  if (!known(x)) return "–";
  let [factor, unit] = units[0];
  for (const [larger, name] of units) if (Math.abs(x) >= larger) [factor, unit] = [larger, name];
  return `${significant(x / factor)} ${unit}`;
}
const time = (ns) => scaled(ns, [[1, "ns"], [1e3, "µs"], [1e6, "ms"], [1e9, "s"]]);
const bytes = (x) => scaled(x, [[1, "B"], [1e3, "kB"], [1e6, "MB"], [1e9, "GB"]]);
const rate = (gflops) => scaled(gflops * 1e9, [[1e9, "GFLOP/s"], [1e12, "TFLOP/s"]]);

const problemName = (p) =>
  `${p.m}×${p.n}×${p.k} ${p.trans_a ? "t" : "n"}${p.trans_b ? "t" : "n"}` + (p.type === "f32" ? "" : ` ${p.type}`) +
  (p.batch === 1 ? "" : ` batch ${p.batch}`) + (p.epilogue ? ` ${p.epilogue}` : "") +
  (p.groups ? ` in ${p.groups} groups of ${p.experts} experts` + (p.largest ? `, the largest ${p.largest}` : "") : "");
const flops = (p) => 2 * p.m * p.n * p.k * p.batch;
const totalTime = (p) => p.kernel_ns + p.pack_ns;

/** The names that the model gives to limits, in words. */
const kLimits = {
  "math": "arithmetic", "tail": "idle units in the last wave", "memory:memory": "device memory", "memory:cache": "cache",
  "memory:shared": "shared memory", "latency": "launch", "stores": "stores of C", "sums": "partial sums", "broadcasts": "broadcasts",
  "barriers": "barriers",
};
const kLevels = {memory: "device memory", cache: "cache", shared: "shared memory", link: "host link"};
/** Caches behind the nearest one have a number: "cache2". */
const levelName = (level) => kLevels[level] ?? level.replace(/^cache(\d+)$/, "cache level $1");
const limitName = (limiter) => kLimits[limiter] ?? levelName(limiter.replace(/^memory:/, ""));

/** "arithmetic", or "arithmetic or cache" where the model cannot tell. */
const limitNames = (p) => limitName(p.limiter) + (p.or_limiter ? ` or ${limitName(p.or_limiter)}` : "");

/** element("td", {class: "number"}, "3", anotherElement) */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);

/** columns: [{name, number: true for right-aligned ones}]; rows: arrays of text. */
function table(caption, columns, rows) {
  const cell = (tag, column, text) => element(tag, column.number ? {class: "number"} : {}, text);
  return element("table", {"aria-label": caption},
    element("thead", {}, element("tr", {}, ...columns.map((c) => cell("th", c, c.name)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((text, i) => cell("td", columns[i], text))))));
}

/** Fills a select; keeps what was chosen where it is still there. */
function fillSelect(select, options) {
  const chosen = select.value;
  select.replaceChildren(...options.map(([value, text]) => element("option", {value}, text)));
  if (options.some(([value]) => String(value) === chosen)) select.value = chosen;
}
