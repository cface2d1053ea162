// Translates and runs what web_kernels wrote into a folder:
//   node run_cases.mjs FOLDER
// npm's webgpu and naga-wasm come from the folder in ROOFTILE_WEB_TOOLS. Prints a line for each case that is wrong.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { featuresOf, layoutEntries } from '../../web/wgsl/bindings.mjs';
import { loadTranslator } from '../../web/wgsl/translate.mjs';
import { difference, makeOperands } from './product.mjs';

const tools = join(process.env.ROOFTILE_WEB_TOOLS, 'node_modules');
const load = (file) => import(pathToFileURL(join(tools, file)));

/** The device of the first adapter, with the features that kernels may need; throws where there is none. */
async function openDevice(gpu) {
  const adapter = await gpu.requestAdapter();
  if (!adapter) throw new Error('there is no WebGPU adapter');
  const wanted = ['shader-f16', 'subgroups'].filter((feature) => adapter.features.has(feature));
  return { adapter, device: await adapter.requestDevice({ requiredFeatures: wanted }) };
}

class Runner {
  constructor(device, translator, folder) {
    Object.assign(this, { device, translator, folder, pipelines: new Map() });
  }

  /** The pipeline of a kernel, made once. Throws with the compiler's messages. */
  async pipeline(kernel) {
    if (!this.pipelines.has(kernel)) this.pipelines.set(kernel, await this.compile(kernel));
    return this.pipelines.get(kernel);
  }

  async compile(kernel) {
    const code = this.translator.spirvToWgsl(readFileSync(join(this.folder, kernel)));
    for (const feature of featuresOf(code))
      if (!this.device.features.has(feature)) throw new Error(`the adapter has no ${feature}`);
    const entries = layoutEntries(code, GPUShaderStage.COMPUTE);
    const layout = this.device.createBindGroupLayout({ entries });
    this.device.pushErrorScope('validation');
    const pipeline = this.device.createComputePipeline({
      layout: this.device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: this.device.createShaderModule({ code }), entryPoint: 'main' },
    });
    const error = await this.device.popErrorScope();
    if (error) throw new Error(`${kernel}: ${error.message}`);
    return { pipeline, layout, bindings: entries.map(({ binding }) => binding) };
  }

  buffer(bytes, usage) {
    const buffer = this.device.createBuffer({ size: Math.ceil(bytes.byteLength / 16) * 16, usage });
    this.device.queue.writeBuffer(buffer, 0, bytes);
    return buffer;
  }

  /** Runs a product and returns C as it is afterwards. */
  async run(product, operands) {
    const storage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    const buffers = {};
    for (const [name, array] of Object.entries(operands)) buffers[name] = this.buffer(array, storage);
    const encoder = this.device.createCommandEncoder();
    for (const step of product.steps) {
      const { pipeline, layout, bindings } = await this.pipeline(step.kernel);
      const parameters = this.buffer(Buffer.from(step.parameters, 'hex'), GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
      const bound = [...step.bindings.map((name) => buffers[name]), parameters];
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, this.device.createBindGroup({
        layout, entries: bindings.map((binding) => ({ binding, resource: { buffer: bound[binding] } })),
      }));
      pass.dispatchWorkgroups(...step.groups);
      pass.end();
    }
    const read = this.device.createBuffer({ size: buffers.c.size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    encoder.copyBufferToBuffer(buffers.c, 0, read, 0, buffers.c.size);
    this.device.queue.submit([encoder.finish()]);
    await read.mapAsync(GPUMapMode.READ);
    const c = new operands.c.constructor(read.getMappedRange().slice(0, operands.c.byteLength));
    read.destroy();
    for (const buffer of Object.values(buffers)) buffer.destroy();
    return c;
  }
}

const { create, globals } = await load('webgpu/index.js');
Object.assign(globalThis, globals);
const gpu = create([]);
const { adapter, device } = await openDevice(gpu);
const translator = await loadTranslator({ naga: await load('naga-wasm/dist/node.js') });
const folder = process.argv[2];
const runner = new Runner(device, translator, folder);
let wrong = 0, caught = 0;
const cases = JSON.parse(readFileSync(join(folder, 'cases.json'), 'utf8'));
for (const product of cases) {
  const operands = makeOperands(product);
  let found;
  try {
    found = difference(product, operands, await runner.run(product, operands));
  } catch (error) {
    found = `${error.message}`;
  }
  if (product.mutant && found) ++caught;
  if (product.mutant ? !found : found) {
    ++wrong;
    console.log(product.mutant ? `${product.name}: the mutant is not caught` : `${product.name}: ${found}`);
  }
}
console.log(`${adapter.info.description || adapter.info.device}: ${cases.length} cases, ${caught} mutants caught, ${wrong} wrong`);
process.exit(wrong ? 1 : 0);
