// One search: calibration, candidates in the engine's order, finals, certificates. Runs in the worker that owns the device and
// survives a lost device: a candidate that loses or hangs it is blocked.
import {hasBaseline, prepareBaseline, withoutPadding} from './baseline.js';
import {preparedBatch} from './batch.js';
import {calibrate} from './calibrate.js';
import {certify} from './certify.js';
import {DeviceFailure, openDevice} from './gpu.js';
import {Compiler, prepareKernel} from './kernel.js';
import {interleaved, kCompileMs, kRunMs, Sampler} from './measure.js';
import {resultsOf} from './results.js';
import {median, spread} from './statistics.js';

const kBatch = 4;                  // Candidates that are measured in turns.
const kSearchRounds = 2, kFinalRounds = 7, kFinalists = 4;
const kMostAttempts = 2;           // Of a kernel that was running when the page went away.
const kSettleMs = 5000;           // Of compilers that the end of the time has left behind.
const kMostBytes = 2 ** 30;         // Of operands: half of what WebAssembly can address.
const kHopeless = 4;               // Times the best: one run is enough.

export class Tuning {
  /** services: {engine, translator, store, ask(what, request) of the certificate worker, report(event)}. */
  constructor(services, options) {
    Object.assign(this, services);
    this.options = options;
    this.stopped = false;
    this.kernels = new Map();  // candidate -> {variant, name, family, samples, failed, certified}
  }

  stop() {
    this.stopped = true;
  }

  async run() {
    await this.open();
    const {problem, known} = this.options;
    // Before the calibration; a quantised B may have half a byte for each element.
    const least = problem.m * problem.k + problem.k * problem.n / 2 + problem.m * problem.n;
    if (least * (problem.batch ?? 1) > kMostBytes)
      throw new Error('The matrices of this problem have more than 1 GiB, which the page does not hold. Choose a smaller one.');
    await this.calibrated();
    this.search = this.engine.ask('start', {problem, adapter: this.adapter, rates: this.rates, known, seed: 1, strategy: 'auto'});
    this.problem = this.search.problem;
    if (this.search.bytes > kMostBytes)
      throw new Error(`The matrices of this problem have ${(this.search.bytes / 2 ** 30).toFixed(1)} GiB; the page holds 1 GiB. Choose a ` +
                      'smaller one.');
    this.key = JSON.stringify([this.identity, this.problem]);
    this.report({kind: 'started', search: this.search, adapter: this.adapter, rates: this.rates, persistent: this.store.persistent});
    await this.recall();
    this.operands = this.engine.ask('operands').memory;
    await this.bindOperands();
    await this.compareWithCpu();
    const end = performance.now() + 1000 * this.options.budget;
    // A batch that would not be compiled in time is not begun.
    while (!this.stopped && performance.now() + (this.compileMs ?? 0) / 2 < end) {
      const {proposed} = this.engine.ask('propose', {count: kBatch});
      if (proposed.length === 0) break;
      await this.measureBatch(proposed.map(candidate => this.kernelOf(candidate)), end);
      this.report({kind: 'progress', share: 1 - Math.max(0, end - performance.now()) / (1000 * this.options.budget)});
    }
    await this.finals();
    this.gpu.close();
    return resultsOf(this);
  }

  async open() {
    this.gpu = await openDevice();
    this.adapter = this.gpu.about;
    const {vendor, architecture, device, description} = this.adapter;
    this.identity = [vendor, architecture, device, description, navigator.userAgent].join('|');
    this.compiler = new Compiler(this.gpu, this.engine, this.translator);
  }

  /** After a failure of the device: a new one, with its operands. */
  async reopen() {
    this.gpu.close();
    await this.open();
    await this.bindOperands();
  }

  async calibrated() {
    const name = `rates|${this.identity}`;
    this.rates = await this.store.get(name);
    if (this.rates) return;
    this.rates = await calibrate(this.gpu, what => this.report({kind: 'phase', text: `Measuring the adapter: ${what}`}));
    await this.store.put(name, this.rates);
  }

  kernelOf(candidate) {
    let kernel = this.kernels.get(candidate);
    if (!kernel) {
      kernel = {candidate, samples: [], failed: null, certified: null, ...this.engine.ask('candidate', {candidate})};
      this.kernels.set(candidate, kernel);
    }
    return kernel;
  }

  /** What earlier visits have measured of this problem on this adapter. */
  async recall() {
    const stored = await this.store.samples(this.key);
    const running = await this.store.get(`running|${this.key}`);
    if (running?.several) this.careful = true;
    if (running?.variant) {
      // A reload ends a kernel as well, so that one more attempt is fair.
      const attempts = running.attempts ?? 1;
      this.attempted = {variant: running.variant, attempts};
      if (attempts >= kMostAttempts) {
        const sample = {key: this.key, variant: running.variant, ns: null, why: 'the page ended twice while it ran'};
        await this.store.add(sample);
        stored.push(sample);
      }
    }
    if (running) await this.store.put(`running|${this.key}`, null);
    if (stored.length === 0) return;
    const numbers = new Map();
    for (let candidate = 0; candidate < this.search.candidates; ++candidate)
      numbers.set(this.engine.ask('candidate', {candidate}).variant, candidate);
    for (const {variant, ns, why} of stored) {
      const candidate = numbers.get(variant);
      if (candidate === undefined) continue;
      const kernel = this.kernelOf(candidate);
      if (ns === null) kernel.failed = why; else kernel.samples.push(ns);
    }
    for (const kernel of this.kernels.values()) this.observe(kernel);
    this.report({kind: 'recalled', count: this.kernels.size});
    this.reportBest();
  }

  observe(kernel) {
    const ns = kernel.failed === null && kernel.samples.length > 0 ? median(kernel.samples) : null;
    this.engine.ask('observe', {candidate: kernel.candidate, ns});
  }

  /** Whether the options compare with '4x4' (the baseline kernel) or 'cpu'; without a choice with both. */
  compares(what) {
    return ['all', what].includes(this.options.compared ?? 'all');
  }

  async bindOperands() {
    const contents = {};
    for (const [name, memory] of Object.entries(this.operands)) contents[name] = this.engine.copyOf(memory);
    if (hasBaseline(this.problem)) contents.a = withoutPadding(contents.a, this.problem);
    this.shared = {};
    for (const [name, bytes] of Object.entries(contents)) this.shared[name] = this.gpu.buffer(bytes.length, bytes);
  }

  async compareWithCpu() {
    if (!this.compares('cpu') || this.problem.types !== 'f32' || this.problem.batch !== 1) return;
    if (this.search.flops > 4e9) return;  // Seconds on one thread.
    this.cpu = (await this.ask('cpu', {problem: this.problem})).ns;
    this.report({kind: 'cpu', ns: this.cpu});
  }

  /** Measured kernels, the fastest first; finalists before those that the search has left behind with few samples. */
  best() {
    const measured = [...this.kernels.values()].filter(kernel => kernel.failed === null && kernel.samples.length > 0);
    return measured.sort((x, y) => Boolean(y.final) - Boolean(x.final) || median(x.samples) - median(y.samples));
  }

  bestNs() {
    const [best] = this.best();
    return best ? median(best.samples) : Infinity;
  }

  reportBest() {
    const [kernel] = this.best();
    if (!kernel) return;
    const ns = median(kernel.samples);
    this.report({
      kind: 'best', ns, name: kernel.name, family: kernel.family, variant: kernel.variant, certified: kernel.certified === true,
      spread: spread(kernel.samples), gflops: this.search.flops / ns, share: this.search.bound_ns / ns,
      persistent: this.store.persistent, measured: [...this.kernels.values()].filter(k => k.samples.length > 0 || k.failed !== null).length,
      candidates: this.search.candidates,
    });
  }

  /** The kernel failed: it is never measured again on this adapter. */
  async block(kernel, why) {
    kernel.failed = why;
    await this.store.add({key: this.key, variant: kernel.variant, ns: null, why});
    this.report({kind: 'blocked', name: kernel.name, why});
  }

  /** Runs an action on the device; a failure costs the kernel. */
  async attempt(kernel, action) {
    const earlier = this.attempted?.variant === kernel.variant ? this.attempted.attempts : 0;
    await this.store.put(`running|${this.key}`, {variant: kernel.variant, attempts: earlier + 1});
    try {
      return await action();
    } catch (failure) {
      await this.block(kernel, failure.message);
      if (failure instanceof DeviceFailure || this.gpu.lost) await this.reopen();
      return null;
    } finally {
      await this.store.put(`running|${this.key}`, null);
    }
  }

  prepare(kernel) {
    const plan = this.engine.ask('programs', {variant: kernel.variant});
    return prepareKernel(this.compiler, plan, {shared: this.shared, deadline: kCompileMs});
  }

  async measureBatch(kernels, end) {
    this.report({kind: 'phase', text: `Compiling ${kernels.length} kernels`});
    const begin = performance.now(), ready = await preparedBatch(this, kernels, end);
    this.compileMs = performance.now() - begin;
    const gpu = this.gpu, running = [];
    for (const {kernel, prepared} of ready) {
      if (this.stopped || (performance.now() > end && this.bestNs() < Infinity) || gpu !== this.gpu) break;
      this.report({kind: 'phase', text: `Measuring ${kernel.name}`});
      const sampler = await this.attempt(kernel, async () => {
        const made = new Sampler(this.gpu, prepared, kRunMs);
        await made.warmUp(kHopeless * this.bestNs());
        return made;
      });
      if (!sampler) continue;
      if (sampler.first > kHopeless * this.bestNs()) await this.keep(kernel, sampler.first);
      else running.push({kernel, sampler});
    }
    await this.rounds(running.filter(({sampler}) => sampler.gpu === this.gpu), kSearchRounds);
    if (gpu === this.gpu) for (const {prepared} of ready) prepared.release();
    for (const kernel of kernels) if (kernel.failed !== null || kernel.samples.length > 0) this.observe(kernel);
    this.reportBest();
  }

  async keep(kernel, ns) {
    kernel.samples.push(ns);
    await this.store.add({key: this.key, variant: kernel.variant, ns});
  }

  async rounds(running, rounds) {
    for (let round = 0; round < rounds; ++round)
      for (const {kernel, sampler} of running) {
        if (kernel.failed !== null || sampler.gpu !== this.gpu) continue;
        const ns = await this.attempt(kernel, () => sampler.sample());
        if (ns !== null) await this.keep(kernel, ns);
        this.reportBest();
      }
  }

  /** The fastest few and the baseline in turns; then certificates, until a kernel has one. */
  async finals() {
    this.report({kind: 'phase', text: 'Waiting for the driver'});
    await Promise.race([this.compiling, new Promise(resolve => { setTimeout(resolve, kSettleMs); })]);
    this.report({kind: 'phase', text: 'Comparing the fastest kernels'});
    for (let tries = 0; tries < kFinalists; ++tries) {
      const gpu = this.gpu;
      try {
        await this.compareFinalists();
        if (gpu === this.gpu) break;
      } catch (failure) {
        if (!(failure instanceof DeviceFailure)) throw failure;
        await this.reopen();
      }
    }
    for (const kernel of this.best()) {
      if (kernel.certified === null) await certify(this, kernel);
      if (kernel.certified) break;
    }
    this.reportBest();
  }

  async compareFinalists() {
    const finalists = this.best().slice(0, kFinalists), samplers = [];
    for (const kernel of finalists) {
      const sampler = await this.attempt(kernel, async () => {
        const made = new Sampler(this.gpu, await this.prepare(kernel), kRunMs);
        await made.warmUp();
        return made;
      });
      if (sampler) samplers.push({kernel, sampler});
    }
    const measured = samplers.map(({sampler}) => sampler);
    if (this.compares('4x4') && hasBaseline(this.problem) && measured.length > 0) {
      const baseline = new Sampler(this.gpu, await prepareBaseline(this.gpu, this.problem, this.shared, kCompileMs), kRunMs);
      await baseline.warmUp();
      measured.push(baseline);
    }
    if (measured.length === 0) return;
    const samples = await interleaved(measured, kFinalRounds, () => this.report({kind: 'phase', text: 'Comparing the fastest kernels'}));
    for (const [i, {kernel}] of samplers.entries()) {
      kernel.samples = samples[i];
      kernel.final = true;
    }
    if (measured.length > samplers.length) this.baseline = {ns: median(samples.at(-1)), spread: spread(samples.at(-1))};
    for (const sampler of measured) sampler.kernel.release();
  }
}
