// The adapter and the device: opening, compiling, running programs with a deadline.

const kLimits = [
  'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupSizeX', 'maxComputeWorkgroupSizeY', 'maxComputeWorkgroupSizeZ',
  'maxComputeWorkgroupsPerDimension', 'maxComputeWorkgroupStorageSize', 'maxStorageBufferBindingSize', 'maxBufferSize',
  'maxStorageBuffersPerShaderStage', 'minStorageBufferOffsetAlignment',
];
// What WebGPU guarantees; calibration and kernels rely on it.
const kGuaranteed = {
  maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupSizeX: 256, maxComputeWorkgroupSizeY: 256, maxComputeWorkgroupSizeZ: 64,
  maxComputeWorkgroupsPerDimension: 65535, maxComputeWorkgroupStorageSize: 16384, maxStorageBufferBindingSize: 2 ** 27,
  maxBufferSize: 2 ** 28, maxStorageBuffersPerShaderStage: 8,
};
const kFeatures = ['shader-f16', 'subgroups', 'timestamp-query'];
// Nothing but processors: names of software adapters in GPUAdapterInfo.
const kSoftware = /swiftshader|llvmpipe|lavapipe|software|basic render/i;

/** A failure that costs the candidate, not the page: the device must be opened again. */
export class DeviceFailure extends Error {}

/** Rejects with DeviceFailure when the promise takes longer. */
export function within(promise, milliseconds, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new DeviceFailure(`${what} took longer than ${Math.round(milliseconds / 1000)} s`)), milliseconds);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** What the engine and the results say of an adapter. */
function describe(adapter) {
  const info = adapter.info ?? {};
  const text = [info.vendor, info.architecture, info.device, info.description].filter(Boolean).join(' ');
  return {
    vendor: info.vendor ?? '',
    architecture: info.architecture ?? '',
    device: info.device ?? '',
    description: info.description ?? '',
    name: info.description || text || 'unnamed adapter',
    software: Boolean(adapter.isFallbackAdapter || info.isFallbackAdapter) || kSoftware.test(text),
    subgroupMinSize: info.subgroupMinSize || 4,
    subgroupMaxSize: info.subgroupMaxSize || 128,
    features: kFeatures.filter(name => adapter.features.has(name)),
    wgsl: [...(navigator.gpu.wgslLanguageFeatures ?? [])],
    limits: Object.fromEntries(kLimits.map(name => [name, Number(adapter.limits[name])])),
  };
}

/** Opens the adapter and its device. Throws an Error with what to do about it. */
export async function openDevice() {
  if (!('gpu' in navigator))
    throw new Error('This browser offers no WebGPU to this page. Use a current Chrome, Edge, Firefox or Safari, and open the page ' +
                    'over https or from 127.0.0.1.');
  const adapter = await navigator.gpu.requestAdapter({powerPreference: 'high-performance'});
  if (!adapter)
    throw new Error('The browser offers no graphics adapter. Update the graphics driver, or turn hardware acceleration on in the ' +
                    "browser's settings.");
  const about = describe(adapter);
  for (const [name, least] of Object.entries(kGuaranteed))
    if (!(about.limits[name] >= least))
      throw new Error(`The adapter ${about.name} is below what WebGPU guarantees: ${name} is ${about.limits[name]} instead of at least ` +
                      `${least}. Update the browser and the graphics driver.`);
  const requiredLimits = {};
  for (const name of kLimits) if (!name.startsWith('min')) requiredLimits[name] = about.limits[name];
  let device;
  try {
    device = await adapter.requestDevice({requiredFeatures: about.features, requiredLimits});
  } catch (failure) {
    throw new Error(`The adapter ${about.name} gives no device: ${failure.message}`);
  }
  return new Gpu(device, about);
}

export class Gpu {
  constructor(device, about) {
    this.device = device;
    this.about = about;
    this.lost = null;
    this.failure = new Promise((_, reject) => {
      device.lost.then(info => {
        this.lost = info.message || 'the device is lost';
        reject(new DeviceFailure(this.lost));
      });
    });
    this.failure.catch(() => {});
    this.timestamps = about.features.includes('timestamp-query') ? new Timestamps(device) : null;
  }

  close() {
    this.device.destroy();
  }

  /** Waits for a promise of the device's, for at most so long, or until the device is lost. */
  await_(promise, milliseconds, what) {
    return within(Promise.race([promise, this.failure]), milliseconds, what);
  }

  /** A compute pipeline; throws an Error with the compiler's message. */
  async pipeline(wgsl, deadline, constants) {
    this.device.pushErrorScope('validation');
    const module = this.device.createShaderModule({code: wgsl});
    const made = this.device.createComputePipelineAsync({layout: 'auto', compute: {module, entryPoint: 'main', constants}});
    const refused = this.device.popErrorScope();
    made.catch(() => {});
    try {
      const pipeline = await this.await_(made, deadline, 'compiling the kernel');
      const error = await refused;
      if (error) throw new Error(error.message);
      return pipeline;
    } catch (failure) {
      if (failure instanceof DeviceFailure) throw failure;
      throw new Error(`the browser refuses the kernel: ${failure.message}`);
    }
  }

  /** A storage buffer with this content, or with zeros; bytes are rounded up to 16. */
  buffer(bytes, content = null, usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST) {
    const size = Math.max(16, Math.ceil(bytes / 16) * 16);
    const buffer = this.device.createBuffer({size, usage, mappedAtCreation: content !== null});
    if (content !== null) {
      new Uint8Array(buffer.getMappedRange()).set(content);
      buffer.unmap();
    }
    return buffer;
  }

  /** Content of a buffer as bytes. */
  async read(buffer, bytes, deadline) {
    const size = Math.ceil(bytes / 4) * 4;
    const copy = this.device.createBuffer({size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ});
    const encoder = this.device.createCommandEncoder();
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, size);
    this.device.queue.submit([encoder.finish()]);
    await this.await_(copy.mapAsync(GPUMapMode.READ), deadline, 'reading the result');
    const content = new Uint8Array(copy.getMappedRange().slice(0, bytes));
    copy.destroy();
    return content;
  }

  /**
   * Runs the dispatches `count` times in one pass and returns its time in ns: by timestamps where the device has them, else
   * from submission to completion. A dispatch is {pipeline, group, groups}.
   */
  async time(dispatches, count, deadline) {
    const encoder = this.device.createCommandEncoder();
    const pass = encoder.beginComputePass(this.timestamps ? {timestampWrites: this.timestamps.writes} : {});
    for (let i = 0; i < count; ++i)
      for (const {pipeline, group, groups} of dispatches) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(...groups);
      }
    pass.end();
    this.timestamps?.resolve(encoder);
    const begin = performance.now();
    this.device.queue.submit([encoder.finish()]);
    await this.await_(this.device.queue.onSubmittedWorkDone(), deadline, 'the kernel');
    const wall = (performance.now() - begin) * 1e6;
    if (!this.timestamps) return wall;
    const ns = await this.timestamps.read(this, deadline);
    return ns > 0 ? ns : wall;
  }
}

/** Begin and end of one pass. Browsers round them, so that only passes of some ms are timed well. */
class Timestamps {
  constructor(device) {
    this.set = device.createQuerySet({type: 'timestamp', count: 2});
    this.resolved = device.createBuffer({size: 16, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC});
    this.mapped = device.createBuffer({size: 16, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ});
    this.writes = {querySet: this.set, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1};
  }

  resolve(encoder) {
    encoder.resolveQuerySet(this.set, 0, 2, this.resolved, 0);
    encoder.copyBufferToBuffer(this.resolved, 0, this.mapped, 0, 16);
  }

  async read(gpu, deadline) {
    await gpu.await_(this.mapped.mapAsync(GPUMapMode.READ), deadline, 'reading the time');
    const [begin, end] = new BigUint64Array(this.mapped.getMappedRange());
    this.mapped.unmap();
    return Number(end - begin);
  }
}
