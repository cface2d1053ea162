// The adapter's rates: what the engine's model predicts times from (runtime/model/calibration.h says what each one is).
import {kSampleNs, medianOf, Sampler} from './measure.js';

const kDeadline = 30e3;

// Loops that no compiler leaves out, because it knows none of their values.
const repeated = (times, line) => Array.from({length: times}, (_, i) => line(i)).join('\n    ');

const kSteps = 8;

/** Multiply-adds in eight chains, so that one does not wait for the other; with `barrier`, sums that live across barriers. */
const fmaSource = barrier => `
@group(0) @binding(0) var<storage, read_write> sink : array<vec4f>;
override trips : u32 = 64;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id : vec3u) {
  let seed = sink[id.x & 63];
  var x0 = seed; var x1 = seed + 1; var x2 = seed + 2; var x3 = seed + 3;
  var x4 = seed + 4; var x5 = seed + 5; var x6 = seed + 6; var x7 = seed + 7;
  let factor = seed * 0.5 + 0.25;
  for (var i = 0u; i < trips; i++) {
    ${barrier}
    ${repeated(8 * kSteps, i => `x${i & 7} = fma(x${i & 7}, factor, seed);`)}
  }
  sink[id.x] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
}`;
const kFlopsOfTrip = kSteps * 8 * 4 * 2;

const kUnroll = 8, kWindow = 2048;

/** kUnroll loads of one type from a window that a cache holds. */
const loadSource = type => `
@group(0) @binding(0) var<storage, read> source : array<${type}>;
@group(0) @binding(1) var<storage, read_write> sink : array<${type}>;
override trips : u32 = 64;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id : vec3u) {
  var sum = ${type}(); var at = id.x;
  for (var i = 0u; i < trips; i++) {
    ${repeated(kUnroll, i => `sum += source[(at + ${64 * i}) & ${kWindow - 1}];`)}
    at += ${64 * kUnroll} + 1;
  }
  sink[id.x] = sum;
}`;

/** kUnroll vectors from shared memory. */
const kShared = `
@group(0) @binding(0) var<storage, read_write> sink : array<vec4f>;
override trips : u32 = 64;
var<workgroup> tile : array<vec4f, 256>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id : vec3u, @builtin(local_invocation_index) lane : u32) {
  for (var i = lane; i < 256; i += 64) { tile[i] = sink[i]; }
  workgroupBarrier();
  var sum = vec4f(); var at = lane;
  for (var i = 0u; i < trips; i++) {
    ${repeated(kUnroll, i => `sum += tile[(at + ${16 * i}) & 255];`)}
    at++;
  }
  sink[id.x] = sum;
}`;

const kBarrier = `
@group(0) @binding(0) var<storage, read_write> sink : array<u32>;
override trips : u32 = 64;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) lane : u32) {
  for (var i = 0u; i < trips; i++) { workgroupBarrier(); }
  sink[lane] = trips;
}`;

const kBroadcast = `enable subgroups;
@group(0) @binding(0) var<storage, read_write> sink : array<vec4f>;
override trips : u32 = 64;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id : vec3u) {
  var sum = sink[id.x & 63];
  for (var i = 0u; i < trips; i++) {
    ${repeated(kUnroll, i => `sum += subgroupBroadcast(sum, ${i & 3});`)}
  }
  sink[id.x] = sum;
}`;

const kCopy = `
@group(0) @binding(0) var<storage, read> source : array<vec4f>;
@group(0) @binding(1) var<storage, read_write> sink : array<vec4f>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id : vec3u) {
  sink[id.x] = source[id.x];
}`;

const kEmpty = `
@group(0) @binding(0) var<storage, read_write> sink : array<u32>;
@compute @workgroup_size(1) fn main() { sink[0] = 1; }`;

async function kernelOf(gpu, wgsl, buffers, groups, constants) {
  const pipeline = await gpu.pipeline(wgsl, kDeadline, constants);
  const entries = buffers.map((buffer, binding) => ({binding, resource: {buffer}}));
  const group = gpu.device.createBindGroup({layout: pipeline.getBindGroupLayout(0), entries});
  return {dispatches: [{pipeline, group, groups: [groups, 1, 1]}]};
}

async function nsOf(gpu, kernel) {
  const sampler = new Sampler(gpu, kernel, kDeadline);
  await sampler.warmUp();
  return medianOf(3, () => sampler.sample());
}

/** Trips a ns of an invocation's loop; the work grows until a dispatch lasts long enough to fill every unit. */
async function tripRate(gpu, source, buffers = () => []) {
  const groups = 1024, invocations = groups * 64;
  const own = buffers(), sink = gpu.buffer(16 * invocations);
  let trips = 8, best = 0;
  for (;;) {
    const ns = await nsOf(gpu, await kernelOf(gpu, source, [...own, sink], groups, {trips}));
    best = Math.max(best, invocations * trips / ns);
    if (ns > kSampleNs / 4 || trips >= 4096) break;
    trips *= 8;
  }
  for (const buffer of [...own, sink]) buffer.destroy();
  return best;
}

const window = gpu => () => [gpu.buffer(16 * kWindow)];

/** GB/s, read and written together, of a copy that is larger than caches. */
async function copyRate(gpu) {
  const bytes = Math.min(64 << 20, gpu.about.limits.maxStorageBufferBindingSize, 65535 * 64 * 16);
  const source = gpu.buffer(bytes), target = gpu.buffer(bytes);
  const ns = await nsOf(gpu, await kernelOf(gpu, kCopy, [source, target], Math.floor(bytes / (16 * 64))));
  source.destroy();
  target.destroy();
  return 2 * bytes / ns;
}

/** Figures by their names and in the units of Rooftile's database; what the adapter has not, or was too quick to time, is left out. */
export async function calibrate(gpu, report) {
  report('dispatch cost');
  const sink = gpu.buffer(16), empty = await kernelOf(gpu, kEmpty, [sink], 1);
  const dispatch = await nsOf(gpu, empty);
  const submit = await medianOf(9, async () => {
    const begin = performance.now();
    gpu.device.queue.submit([gpu.device.createCommandEncoder().finish()]);
    await gpu.await_(gpu.device.queue.onSubmittedWorkDone(), kDeadline, 'an empty submission');
    return (performance.now() - begin) * 1e6;
  });
  const kManyGroups = 1024;
  const groups = await nsOf(gpu, await kernelOf(gpu, kEmpty, [sink], kManyGroups));
  sink.destroy();
  report('multiply-add rate');
  const fma = kFlopsOfTrip * await tripRate(gpu, fmaSource(''));
  const synchronised = kFlopsOfTrip * await tripRate(gpu, fmaSource('workgroupBarrier();'));
  report('loads');
  const scalars = kUnroll * await tripRate(gpu, loadSource('f32'), window(gpu));
  const vectors = kUnroll * await tripRate(gpu, loadSource('vec4f'), window(gpu));
  report('shared memory');
  const shared = 16 * kUnroll * await tripRate(gpu, kShared);
  const barriers = await tripRate(gpu, kBarrier);
  const broadcasts = gpu.about.features.includes('subgroups') ? kUnroll * await tripRate(gpu, kBroadcast) : 0;
  report('copy bandwidth');
  const copy = await copyRate(gpu);
  const figures = {
    'device.submit': Math.max(submit, 1),
    'device.dispatch': dispatch,
    'device.workgroup': Math.max(0, groups - dispatch) / (kManyGroups - 1),
    'device.barrier': 1 / barriers,
    'device.fma.f32': fma,
    'device.fma.synchronised': synchronised,
    'device.load.buffer.scalar': scalars,
    'device.load.buffer.vector': vectors,
    'device.shared': shared,
    'device.broadcast': broadcasts,
    'device.level.memory.bandwidth': copy,
  };
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => value > 0 && Number.isFinite(value)));
}
