// The page: form, progress and results. All work is done by two workers; this thread only shows it. Texts from adapters and
// files are inserted as text, never as markup.
import {drawRoofline} from './chart.js';
import {distinctNames, exportOf, launcherOf, sourceOf} from './results.js';
import {median, spread} from './statistics.js';

const $ = id => document.getElementById(id);
const kHangMs = 90e3;      // No word of the device's worker for so long: it hangs, and a new one takes over.
const kShownLines = 250, kShownKernels = 8;
const kAnnounceMs = 5000;  // A screen reader is told of progress that often.

let worker = null, certificates = null, options = null, results = null, known = [], version = '';
let watch = 0, announced = 0, restarts = 0;

const number = (value, digits = 3) => Number.isFinite(value) ? value.toLocaleString('en', {maximumSignificantDigits: digits}) : '–';
const percent = share => Number.isFinite(share) ? `${number(100 * share, 2)} %` : '–';

function time(ns) {
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) if (ns >= size) return `${number(ns / size)} ${unit}`;
  return `${number(ns)} ns`;
}

function announce(text, always = false) {
  if (!always && performance.now() - announced < kAnnounceMs) return;
  announced = performance.now();
  $('announced').textContent = text;
}

function fail(text) {
  $('run').hidden = false;
  $('failure').hidden = false;
  $('failure').textContent = text;
}

/** Writes a figure of the list, which is made when it is first named. */
function figure(name, value) {
  const id = `figure-${name.replaceAll(/\W+/g, '-')}`;
  let target = $(id);
  if (!target) {
    const box = document.createElement('div'), term = document.createElement('dt');
    target = document.createElement('dd');
    term.textContent = name;
    target.id = id;
    box.append(term, target);
    $('figures').append(box);
  }
  target.textContent = value;
}

function storage(persistent) {
  if (!persistent) figure('storage', 'refused: a reload begins anew');
}

function busy(running) {
  $('start').disabled = running;
  $('stop').disabled = !running;
  for (const field of $('problem').elements) if (field.id && field.type !== 'button' && field.type !== 'submit') field.disabled = running;
  clearInterval(watch);
  if (!running) return;
  let heard = performance.now();
  worker.addEventListener('message', () => { heard = performance.now(); });
  watch = setInterval(() => {
    if (performance.now() - heard < kHangMs) return;
    clearInterval(watch);
    takeOver();
  }, 1000);
}

/** The device's worker hangs: another one goes on, and the kernel that was running is blocked after its second attempt. */
async function takeOver() {
  if (++restarts > 5) {
    busy(false);
    fail('The graphics driver stopped answering again and again. Reload the page to go on with the other kernels.');
    return;
  }
  startWorkers();
  worker.addEventListener('message', function ready({data}) {
    if (data.kind !== 'ready') return;
    worker.removeEventListener('message', ready);
    start(options);
  });
}

function formOptions() {
  const types = $('types').value;
  return {
    problem: {
      m: Number($('m').value), n: Number($('n').value), k: Number($('k').value), batch: 1,
      trans_a: $('trans_a').checked, trans_b: types.includes('xq') || $('trans_b').checked, types,
    },
    budget: Number($('budget').value),
    compared: $('compared').value,
  };
}

function fillForm({problem, budget, compared}) {
  for (const name of ['m', 'n', 'k', 'types']) $(name).value = problem[name];
  $('trans_a').checked = problem.trans_a;
  $('trans_b').checked = problem.trans_b;
  $('budget').value = budget;
  $('compared').value = compared ?? 'all';
}

/** Kernels that were fastest elsewhere, the nearest sizes first. */
function knownFor(problem) {
  const distance = entry => ['m', 'n', 'k'].reduce((sum, side) => sum + Math.log2(entry.problem[side] / problem[side]) ** 2, 0) +
      (entry.problem.types === problem.types ? 0 : 100);
  return [...new Set([...known].sort((x, y) => distance(x) - distance(y)).map(entry => entry.variant))].slice(0, 6);
}

function start(chosen) {
  options = chosen;
  $('run').hidden = false;
  $('result').hidden = true;
  $('failure').hidden = true;
  $('figures').replaceChildren();
  $('progress').value = 0;
  busy(true);
  announce('The search begins.', true);
  worker.postMessage({command: 'start', options: {...chosen, known: knownFor(chosen.problem)}});
}

const events = {
  ready: ({adapter, session}) => {
    const banner = $('adapter');
    banner.textContent = adapter.software
        ? `${adapter.name}: this is a software adapter. It runs on the processor, so that its times say nothing of a GPU.`
        : `Adapter: ${adapter.name}`;
    banner.classList.toggle('warn', adapter.software);
    $('start').disabled = false;
    if (session && !options) {
      fillForm(session.options);
      start({...session.options, known: undefined});
    }
  },
  phase: ({text}) => {
    $('phase').textContent = text;
    announce(text);
  },
  started: ({search, persistent, rates}) => {
    figure('kernels', `0 of ${search.candidates}`);
    figure('multiply-add rate', `${number(rates['device.fma.f32'])} GFLOP/s`);
    figure('copy bandwidth', `${number(rates['device.level.memory.bandwidth'])} GB/s`);
    figure('a dispatch', time(rates['device.dispatch']));
    storage(persistent);
  },
  recalled: ({count}) => { $('phase').textContent = `${count} kernels are known from earlier visits.`; },
  cpu: ({ns}) => figure('one CPU thread', time(ns)),
  progress: ({share}) => { $('progress').value = share; },
  best: best => {
    figure('best so far', `${number(best.gflops)} GFLOP/s`);
    figure('time', `${time(best.ns)} ± ${percent(best.spread)}`);
    figure('of the roofline', percent(best.share));
    figure('kernels', `${best.measured} of ${best.candidates}`);
    figure('kernel', best.name);
    storage(best.persistent);
    announce(`Best so far: ${number(best.gflops)} gigaflops a second.`);
  },
  blocked: ({name, why}) => { $('phase').textContent = `${name} is left out: ${why}`; },
  finished: event => {
    busy(false);
    $('progress').value = 1;
    $('phase').textContent = event.stopped ? 'Stopped. Start goes on from here.' : 'Finished. Start again to search on.';
    showResults(event.results);
  },
  failed: ({text, command}) => {
    if (command === 'prepare') {
      $('adapter').textContent = text;
      $('adapter').classList.add('bad');
    } else {
      busy(false);
      fail(text);
    }
  },
};

function row(cells, winner) {
  const line = document.createElement('tr');
  line.classList.toggle('winner', Boolean(winner));
  for (const text of cells) {
    const cell = document.createElement('td');
    cell.textContent = text;
    line.append(cell);
  }
  return line;
}

function verdict({winner, baseline, cpu_ns: cpu, adapter, flops}) {
  if (!winner) return 'No kernel passed the check against float64, so there is no winner.';
  const parts = [`${winner.name}: ${number(flops / winner.ns)} GFLOP/s, checked on ${winner.certificate.cases} adversarial problems.`];
  if (baseline && baseline.ns < winner.ns) parts.push(`The untuned 4x4 kernel is faster: ${number(winner.ns / baseline.ns)} times. Search on.`);
  else if (baseline) parts.push(`That is ${number(baseline.ns / winner.ns)} times the rate of the untuned 4x4 kernel.`);
  if (cpu !== null && cpu < winner.ns) parts.push(`One thread of the processor is faster here: ${number(winner.ns / cpu, 2)} times as fast.`);
  else if (cpu !== null) parts.push(`One thread of the processor takes ${number(cpu / winner.ns, 2)} times as long.`);
  if (adapter.software) parts.push('The adapter is software.');
  return parts.join(' ');
}

/** What is shown of a source: unrolled kernels are so long that laying them out would stop the page. */
function beginningOf(source) {
  const lines = source.split('\n');
  if (lines.length <= kShownLines) return source;
  return `${lines.slice(0, kShownLines).join('\n')}\n// … ${lines.length - kShownLines} more lines: Copy and Save take all of it.`;
}

function showResults(finished) {
  results = finished;
  $('result').hidden = false;
  $('verdict').textContent = verdict(results);
  announce($('verdict').textContent, true);
  const {winner, baseline, flops, cpu_ns: cpu} = results;
  const measured = results.kernels.filter(kernel => kernel.failed === null && kernel.samples_ns.length > 0)
      .sort((x, y) => median(x.samples_ns) - median(y.samples_ns)).slice(0, kShownKernels);
  const names = distinctNames(measured);
  const rows = measured.map((kernel, i) => {
    const ns = median(kernel.samples_ns);
    return row([names[i], number(flops / ns), time(ns), percent(spread(kernel.samples_ns)), kernel.certified ? 'yes' : 'no'],
               kernel.variant === winner?.variant);
  });
  if (baseline) rows.push(row(['4x4 registers, untuned', number(flops / baseline.ns), time(baseline.ns), percent(baseline.spread), '']));
  if (cpu !== null) rows.push(row(['one CPU thread (WebAssembly)', number(flops / cpu), time(cpu), '', '']));
  $('kernels').replaceChildren(...rows);
  for (const id of ['copy', 'save-wgsl', 'save-launcher']) $(id).disabled = !winner;
  $('source').textContent = winner ? beginningOf(sourceOf(winner)) : '';
  const intensity = flops / results.bytes, points = [];
  if (winner) points.push({label: winner.name, intensity, gflops: flops / winner.ns, kind: 'winner'});
  if (baseline) points.push({label: '4x4 registers', intensity, gflops: flops / baseline.ns, kind: ''});
  if (cpu !== null) points.push({label: 'one CPU thread', intensity, gflops: flops / cpu, kind: ''});
  drawRoofline($('roofline'),
               {peak: results.rates['device.fma.f32'], bandwidth: results.rates['device.level.memory.bandwidth']}, points);
}

function save(name, text, type) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], {type}));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function startWorkers() {
  worker?.terminate();
  certificates?.terminate();
  worker = new Worker(new URL('./device_worker.js', import.meta.url), {type: 'module'});
  certificates = new Worker(new URL('./certificate_worker.js', import.meta.url), {type: 'module'});
  const channel = new MessageChannel();
  certificates.postMessage('port', [channel.port1]);
  worker.onmessage = ({data}) => events[data.kind]?.(data);
  worker.onerror = ({message}) => fail(`A worker of the page failed: ${message}`);
  worker.postMessage({command: 'prepare'}, [channel.port2]);
}

$('problem').addEventListener('submit', event => {
  event.preventDefault();
  restarts = 0;
  start(formOptions());
});
$('stop').addEventListener('click', () => {
  $('stop').disabled = true;
  $('phase').textContent = 'Stopping after the running kernel …';
  worker.postMessage({command: 'stop'});
});
$('copy').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(sourceOf(results.winner));
    $('copied').textContent = 'The source is in the clipboard.';
  } catch {
    $('copied').textContent = 'The browser refuses the clipboard: use Save .wgsl.';
  }
});
$('save-wgsl').addEventListener('click', () => save('rooftile.wgsl', sourceOf(results.winner), 'text/plain'));
$('save-launcher').addEventListener('click', () => save('rooftile.mjs', launcherOf(results), 'text/javascript'));
$('save-json').addEventListener('click',
                                () => save('rooftile-results.json', JSON.stringify(exportOf(results, version), null, 1), 'application/json'));

// What `rooftile web` wrote beside the page: its version and kernels of a native database.
try {
  ({known, version} = await (await fetch('./known.json')).json());
} catch {
  known = [];
}
// For tests, and for whoever looks into the page from the console.
globalThis.rooftile = {results: () => results, exported: () => exportOf(results, version)};
startWorkers();
