// Times of kernels: samples that are long enough for the browser's clocks, from which the cost of a pass is taken out.
import {median} from './statistics.js';

/** A sample lasts so long at least, in ns: browsers round timestamps to 0.1 ms and clocks to 5 us. */
export const kSampleNs = 10e6;
/** Limits of a compilation and of a submission, after which the device is given up. */
export const kCompileMs = 60e3, kRunMs = 20e3;
const kMostDispatches = 4096;
// From this time on one product is a sample of its own: a pass costs less than 1 % of it.
const kLongNs = 20e6;

/** A kernel that is being measured. Time in ns of one product. */
export class Sampler {
  constructor(gpu, kernel, deadline) {
    Object.assign(this, {gpu, kernel, deadline, count: 1});
  }

  time(count) {
    return this.gpu.time(this.kernel.dispatches, count, this.deadline);
  }

  /**
   * Runs the kernel once, which is left out of all samples, and then finds how often a sample repeats it. Ends early where even
   * the second run takes longer than `hopeless` ns.
   */
  async warmUp(hopeless = Infinity) {
    await this.time(1);
    this.first = await this.time(1);
    if (this.first > hopeless) return;
    let ns = this.first;
    while (ns < kSampleNs && this.count < kMostDispatches) {
      const factor = Math.min(16, Math.max(2, 1.2 * kSampleNs / Math.max(ns, 1e3)));
      this.count = Math.min(kMostDispatches, Math.ceil(this.count * factor));
      ns = await this.time(this.count);
    }
  }

  /** One sample: the slope over two counts of products. Of long products the time of one. */
  async sample() {
    if (this.first >= kLongNs) return this.time(1);
    const few = Math.max(1, this.count >> 1), many = few + this.count;
    const fewNs = await this.time(few), manyNs = await this.time(many);
    const slope = (manyNs - fewNs) / (many - few);
    // A disturbance of the shorter one can turn the slope around; the mean is then the best guess.
    return slope > 0.5 * manyNs / many ? slope : manyNs / many;
  }
}

/** Samples of several samplers in turns, so that a slow phase meets all of them: `rounds` of each. */
export async function interleaved(samplers, rounds, report) {
  const samples = samplers.map(() => []);
  for (let round = 0; round < rounds; ++round)
    for (let i = 0; i < samplers.length; ++i) {
      const ns = await samplers[i].sample();
      samples[i].push(ns);
      await report?.(i, ns);
    }
  return samples;
}

/** Median time of an action that returns ns. */
export async function medianOf(times, action) {
  const values = [];
  for (let i = 0; i < times; ++i) values.push(await action());
  return median(values);
}
