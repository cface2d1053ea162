// What the page does where the browser, the device or the storage fails; these are stood in for here.
import assert from 'node:assert/strict';
import {test} from 'node:test';

const page = name => import(`../../web/page/${name}`);
const {DeviceFailure, Gpu, openDevice, within} = await page('gpu.js');
const {preparedBatch} = await page('batch.js');
const {openStore, SafeStore} = await page('store.js');
const {Tuning} = await page('tuning.js');
const {distinctNames, exportOf, launcherOf, sourceOf} = await page('results.js');

function withNavigator(gpu) {
  Object.defineProperty(globalThis, 'navigator', {value: gpu === undefined ? {} : {gpu, userAgent: 'node'}, configurable: true});
}

const guaranteed = {
  maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupSizeX: 256, maxComputeWorkgroupSizeY: 256, maxComputeWorkgroupSizeZ: 64,
  maxComputeWorkgroupsPerDimension: 65535, maxComputeWorkgroupStorageSize: 16384, maxStorageBufferBindingSize: 2 ** 27,
  maxBufferSize: 2 ** 28, maxStorageBuffersPerShaderStage: 8, minStorageBufferOffsetAlignment: 256,
};
const never = new Promise(() => {});
const adapter = (more = {}) => ({
  info: {vendor: 'acme', description: 'Acme 1'}, features: new Set(), limits: guaranteed,
  requestDevice: async () => ({lost: never, destroy() {}}), ...more,
});

test('a browser without WebGPU is told what to use', async () => {
  withNavigator(undefined);
  await assert.rejects(openDevice(), /offers no WebGPU.*Use a current Chrome/s);
});

test('a browser without an adapter is told what to do', async () => {
  withNavigator({requestAdapter: async () => null});
  await assert.rejects(openDevice(), /no graphics adapter.*Update the graphics driver/s);
});

test('an adapter below the minimum is refused by the name of the limit', async () => {
  withNavigator({requestAdapter: async () => adapter({limits: {...guaranteed, maxComputeWorkgroupStorageSize: 1024}})});
  await assert.rejects(openDevice(), /Acme 1.*maxComputeWorkgroupStorageSize is 1024 instead of at least 16384.*Update/s);
});

test('an adapter that gives no device is named', async () => {
  withNavigator({requestAdapter: async () => adapter({requestDevice: async () => { throw new Error('out of memory'); }})});
  await assert.rejects(openDevice(), /Acme 1 gives no device: out of memory/);
});

test('software adapters are known as such', async () => {
  withNavigator({requestAdapter: async () => adapter({info: {vendor: 'google', architecture: 'swiftshader'}})});
  assert.equal((await openDevice()).about.software, true);
  withNavigator({requestAdapter: async () => adapter()});
  assert.equal((await openDevice()).about.software, false);
});

test('a promise that hangs is given up, and a lost device ends every wait', async () => {
  await assert.rejects(within(never, 1, 'the kernel'), error => error instanceof DeviceFailure && /the kernel took longer/.test(error.message));
  const gpu = new Gpu({lost: Promise.resolve({message: 'gone'}), destroy() {}}, {features: []});
  await assert.rejects(gpu.await_(never, 60e3, 'the kernel'), error => error instanceof DeviceFailure && /gone/.test(error.message));
});

/** A search on a device that does what `prepare` says, with the store's entries in `stored`. */
function search(prepare, more = {}) {
  const stored = new Map(), samples = [];
  const store = {persistent: true, put: async (name, value) => stored.set(name, value), add: async sample => samples.push(sample)};
  const tuning = new Tuning({engine: {}, translator: {}, store, report() {}}, {});
  Object.assign(tuning, {key: 'key', gpu: {lost: null}, prepare, reopened: 0, ...more});
  tuning.reopen = async () => { tuning.gpu = {lost: null}; ++tuning.reopened; };
  return {tuning, stored, samples};
}

const kernel = name => ({variant: name, name, samples: [], failed: null});
const soon = () => performance.now() + 60e3;

test('a kernel that loses the device is blocked, and the search goes on with a new device', async () => {
  const {tuning, stored, samples} = search();
  const bad = kernel('bad');
  assert.equal(await tuning.attempt(bad, () => { throw new DeviceFailure('the kernel took longer than 20 s'); }), null);
  assert.match(bad.failed, /longer than 20 s/);
  assert.deepEqual(samples, [{key: 'key', variant: 'bad', ns: null, why: bad.failed}]);
  assert.equal(tuning.reopened, 1);
  assert.equal(stored.get('running|key'), null);
});

test('a kernel that does not compile is blocked alone', async () => {
  const {tuning, samples} = search(async ({name}) => { if (name === 'bad') throw new Error('refused'); return name; });
  const ready = await preparedBatch(tuning, ['x', 'bad', 'y'].map(kernel), soon());
  assert.deepEqual(ready.map(({prepared}) => prepared), ['x', 'y']);
  assert.deepEqual(samples.map(({variant}) => variant), ['bad']);
  assert.equal(tuning.reopened, 0);
});

test('after a batch that loses the device its kernels are compiled one by one, and only the guilty one is blocked', async () => {
  const {tuning, samples} = search(async ({name}) => { if (name === 'bad') throw new DeviceFailure('gone'); return name; });
  const ready = await preparedBatch(tuning, ['x', 'bad', 'y'].map(kernel), soon());
  assert.deepEqual(ready.map(({prepared}) => prepared), ['y']);  // x was compiled for the device that is lost.
  assert.deepEqual(samples.map(({variant}) => variant), ['bad']);
  assert.equal(tuning.reopened, 2);
});

test('Stop and the end of the budget do not wait for compilers', async () => {
  const {tuning} = search(() => never, {bestNs: () => 1});
  assert.deepEqual(await preparedBatch(tuning, [kernel('x')], performance.now() - 1), []);
  tuning.stopped = true;
  assert.deepEqual(await preparedBatch(tuning, [kernel('x')], soon()), []);
});

test('the first search waits for one kernel, whatever the budget is', async () => {
  let compiled;
  const {tuning} = search(({name}) => (name === 'x' ? new Promise(resolve => { compiled = resolve; }) : never));
  const preparing = preparedBatch(tuning, ['x', 'y'].map(kernel), performance.now() - 1);
  setTimeout(() => compiled('x'), 100);
  assert.deepEqual((await preparing).map(({prepared}) => prepared), ['x']);
});

test('without storage the page works and says so', async () => {
  const store = await openStore();  // node has no IndexedDB.
  assert.equal(store.persistent, false);
  await store.add({key: 'k', variant: 'v', ns: 1});
  assert.equal((await store.samples('k')).length, 1);
});

test('storage that refuses later is replaced by memory', async () => {
  const refuse = async () => { throw new Error('QuotaExceededError'); };
  const store = new SafeStore({persistent: true, add: refuse, samples: refuse, get: refuse, put: refuse, forget: refuse, keys: refuse});
  assert.equal(store.persistent, true);
  await store.add({key: 'k', variant: 'v', ns: 1});
  assert.equal(store.persistent, false);
  assert.equal((await store.samples('k'))[0].ns, 1);
});

test('files hold the winner, and names from outside cannot leave their comment', () => {
  withNavigator(null);
  const plan = {programs: [{role: 'gemm', wgsl: 'fn main() {}', bindings: 3}], steps: [], bytes: {c: 16}};
  const results = {
    adapter: {name: 'Acme\n*/ alert(1) //'}, rates: {}, problem: {types: 'f32'}, text: '8x8x8', kernels: [], cpu_ns: null, baseline: null,
    winner: {variant: 'v', plan},
  };
  assert.equal(sourceOf(results.winner), '// gemm\nfn main() {}');
  const [, second] = launcherOf(results).split('\n');
  assert.match(second, /^\/\/ Found by Rooftile on Acme /);
  assert.equal(exportOf(results, '1').problems[0].winner, 'v');
});

test('kernels that share a name are told apart by the parameters in which they differ', () => {
  const kernel = (name, variant) => ({name, variant});
  assert.deepEqual(distinctNames([
    kernel('tiled 16x16', 'family=tiled tile_m=16 dot=1'), kernel('vector 1x4', 'family=vector tile_m=1 dot=1'),
    kernel('tiled 16x16', 'family=tiled tile_m=16 dot=4'),
  ]), ['tiled 16x16 (dot=1)', 'vector 1x4', 'tiled 16x16 (dot=4)']);
});

test('the search compares with what the form asks for', async () => {
  for (const [compared, kernelWanted, cpuWanted] of
       [[undefined, true, true], ['all', true, true], ['4x4', true, false], ['cpu', false, true], ['none', false, false]]) {
    const {tuning} = search(() => {}, {problem: {types: 'f32', batch: 1}, search: {flops: 1}});
    let asked = 0;
    Object.assign(tuning, {options: {compared}, ask: async () => { ++asked; return {ns: 1}; }});
    await tuning.compareWithCpu();
    assert.equal(asked === 1, cpuWanted);
    assert.equal(tuning.compares('4x4'), kernelWanted);
  }
});
