// Tunes one problem with the page's own search, then times its winner and the matrix products of onnxruntime-web and TensorFlow.js
// on the same device, operands and result resident, in turns. compare_rivals.py calls it.
import * as ort from '/node_modules/onnxruntime-web/dist/ort.webgpu.bundle.min.mjs';
import {prepareBaseline} from '/page/baseline.js';
import {loadEngine} from '/page/engine.js';
import {openDevice} from '/page/gpu.js';
import {Compiler, prepareKernel} from '/page/kernel.js';
import {kCompileMs, kRunMs} from '/page/measure.js';
import * as naga from '/page/naga/index.js';
import {median, spread} from '/page/statistics.js';
import {openStore} from '/page/store.js';
import {loadTranslator} from '/page/translate.mjs';
import {Tuning} from '/page/tuning.js';
import {certifier} from '/tuning_services.mjs';

const kSampleMs = 200;

/** The search of the page, with its certificates. Returns its results. */
async function tune(services, problem, seconds) {
  const tuning = new Tuning({...services, ask: certifier(await loadEngine()), report() {}},
                            {problem, budget: seconds, known: []});
  return tuning.run();
}

// An ONNX model of one node, C = MatMul(A, B): the few messages of its protocol buffer.
const varint = value => value < 128 ? [value] : [value % 128 + 128, ...varint(Math.floor(value / 128))];
const number = (field, value) => [...varint(8 * field), ...varint(value)];
const message = (field, bytes) => [...varint(8 * field + 2), ...varint(bytes.length), ...bytes];
const text = (field, string) => message(field, [...new TextEncoder().encode(string)]);
function tensor(field, name, sizes) {
  const kFloat = 1;
  const shape = sizes.flatMap(size => message(1, number(1, size)));
  return message(field, [...text(1, name), ...message(2, message(1, [...number(1, kFloat), ...message(2, shape)]))]);
}
function model({m, n, k}) {
  const node = [...text(1, 'A'), ...text(1, 'B'), ...text(2, 'C'), ...text(4, 'MatMul')];
  const graph = [...message(1, node), ...text(2, 'product'), ...tensor(11, 'A', [m, k]), ...tensor(11, 'B', [k, n]),
                 ...tensor(12, 'C', [m, n])];
  return Uint8Array.from([...number(1, 8), ...message(8, [...text(1, ''), ...number(2, 13)]), ...message(7, graph)]);
}

function random(count) {
  return Float32Array.from({length: count}, () => Math.random() - 0.5);
}
const bytesOf = floats => new Uint8Array(floats.buffer);

/** Each contestant: {name, submit(count), read()}: products that are on their way to the device, and the result. */
async function contestants(gpu, services, problem, winner, a, b) {
  const {m, n, k} = problem;
  const [aBuffer, bBuffer] = [gpu.buffer(4 * m * k, bytesOf(a)), gpu.buffer(4 * k * n, bytesOf(b))];
  const floats = async buffer => new Float32Array((await gpu.read(buffer, 4 * m * n, kRunMs)).buffer);
  const own = (name, kernel) => ({
    name,
    async submit(count) {
      const encoder = gpu.device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      for (let i = 0; i < count; ++i)
        for (const {pipeline, group, groups} of kernel.dispatches) {
          pass.setPipeline(pipeline);
          pass.setBindGroup(0, group);
          pass.dispatchWorkgroups(...groups);
        }
      pass.end();
      gpu.device.queue.submit([encoder.finish()]);
    },
    read: () => floats(kernel.buffers.c),
  });
  const shared = {a: aBuffer, b: bBuffer};
  const plan = services.engine.ask('programs', {variant: winner.variant});
  const tuned = await prepareKernel(new Compiler(gpu, services.engine, services.translator), plan, {shared, deadline: kCompileMs});
  const simple = await prepareBaseline(gpu, problem, shared, kCompileMs);

  ort.env.wasm.numThreads = 1;
  const session = await ort.InferenceSession.create(model(problem), {executionProviders: [{name: 'webgpu', device: gpu.device}]});
  const wrap = (buffer, dims) => ort.Tensor.fromGpuBuffer(buffer, {dataType: 'float32', dims});
  const feeds = {A: wrap(aBuffer, [m, k]), B: wrap(bBuffer, [k, n])};
  const cBuffer = gpu.buffer(4 * m * n);
  const fetches = {C: wrap(cBuffer, [m, n])};

  const backend = new tf.WebGPUBackend(gpu.device, gpu.device.adapterInfo ?? {});
  tf.removeBackend('webgpu');  // It would open a device of its own.
  tf.registerBackend('webgpu', () => backend);
  await tf.setBackend('webgpu');
  const [aTensor, bTensor] = [tf.tensor2d(a, [m, k]), tf.tensor2d(b, [k, n])];
  return [
    own(`Rooftile ${winner.name}`, tuned),
    own('4x4 kernel', simple),
    {
      name: `onnxruntime-web ${ort.env.versions.web}`,
      async submit(count) {
        for (let i = 0; i < count; ++i) await session.run(feeds, fetches);
      },
      read: () => floats(cBuffer),
    },
    {
      name: `TensorFlow.js ${tf.version_core}`,
      // Reading the last result is its public way to submit what is queued: the copy of one C is within the time.
      async submit(count) {
        const products = Array.from({length: count}, () => tf.matMul(aTensor, bTensor));
        await products.at(-1).data();
        products.forEach(product => product.dispose());
      },
      read: () => tf.matMul(aTensor, bTensor).data(),
    },
  ];
}

async function timeMs(gpu, contestant, count) {
  const begin = performance.now();
  await contestant.submit(count);
  await gpu.device.queue.onSubmittedWorkDone();
  return performance.now() - begin;
}

/** Largest difference of two results over the bound of a float32 sum of k products of values below a half. */
function difference(x, y, k) {
  let largest = 0;
  for (let i = 0; i < x.length; ++i) largest = Math.max(largest, Math.abs(x[i] - y[i]));
  return largest / (2 * k * k * 0.25 * 2 ** -24);
}

/** Returns [{name, ms, spread, error}] for a problem {m, n, k} of float32. */
export async function compare({m, n, k}, seconds, rounds) {
  const [engine, translator, store] = await Promise.all([
    loadEngine(), loadTranslator({naga, wasm: new URL('/page/naga/wasm/naga_bg.wasm', import.meta.url)}), openStore(),
  ]);
  const services = {engine, translator, store};
  const {winner, adapter} = await tune(services, {m, n, k, types: 'f32'}, seconds);
  if (!winner) throw new Error('the search found no kernel');
  const gpu = await openDevice();
  const [a, b] = [random(m * k), random(k * n)];
  const all = await contestants(gpu, services, {m, n, k}, winner, a, b);
  const results = [];
  for (const one of all) {
    await timeMs(gpu, one, 1);
    const ms = await timeMs(gpu, one, 1);
    results.push({name: one.name, count: Math.max(1, Math.min(256, Math.round(kSampleMs / ms))), samples: [], c: await one.read()});
  }
  for (let round = 0; round < rounds; ++round)
    for (let i = 0; i < all.length; ++i) results[i].samples.push(await timeMs(gpu, all[i], results[i].count) / results[i].count);
  return {
    adapter: adapter.name,
    results: results.map(({name, samples, c}) => ({name, ms: median(samples), spread: spread(samples), error: difference(c, results[0].c, k)})),
  };
}
