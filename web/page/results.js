// Results of a search, and as files: versioned JSON, and the winner's kernel with a launcher.
import {median, spread} from './statistics.js';

export const kFormat = 'rooftile-web-results', kFormatVersion = 1;

/** What `rooftile db import` reads (docs/web.md). */
export function exportOf(results, rooftile) {
  return {
    format: kFormat,
    version: kFormatVersion,
    rooftile,
    created: new Date().toISOString(),
    browser: navigator.userAgent,
    adapter: results.adapter,
    rates: results.rates,
    problems: [{
      problem: results.problem,
      cpu_ns: results.cpu_ns,
      baseline_ns: results.baseline?.ns ?? null,
      winner: results.winner?.variant ?? null,
      kernels: results.kernels,
    }],
  };
}

/** Names of kernels: those that share one get the parameters in which they differ. */
export function distinctNames(kernels) {
  const parameters = kernels.map(({variant}) => variant.split(' '));
  return kernels.map(({name}, i) => {
    const others = parameters.filter((_, j) => j !== i && kernels[j].name === name);
    const own = parameters[i].filter(parameter => others.some(other => !other.includes(parameter)));
    return own.length > 0 ? `${name} (${own.join(' ')})` : name;
  });
}

/** All WGSL of the winner, each shader under a line with its role. */
export function sourceOf(winner) {
  return winner.plan.programs.map(({role, wgsl}) => `// ${role}\n${wgsl}`).join('\n');
}

/** A module of some 40 lines that multiplies with the winner in any page: it needs nothing else. */
export function launcherOf(results) {
  const {plan} = results.winner;
  const programs = plan.programs.map(({wgsl, bindings}) => ({wgsl, bindings}));
  return `// ${results.text}, types ${results.problem.types}: ${results.winner.variant}
// Found by Rooftile on ${results.adapter.name.replace(/[\r\n]/g, ' ')}.
//   const multiply = await createKernel(device);   // a GPUDevice
//   const c = await multiply({a, b});              // typed arrays; rows begin at multiples of 16 bytes
const plan = ${JSON.stringify({programs, steps: plan.steps, bytes: plan.bytes})};

export async function createKernel(device) {
  const pipelines = await Promise.all(plan.programs.map(({wgsl}) => device.createComputePipelineAsync({
    layout: 'auto', compute: {module: device.createShaderModule({code: wgsl}), entryPoint: 'main'},
  })));
  const storage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const buffers = {};
  for (const [name, size] of Object.entries(plan.bytes)) buffers[name] = device.createBuffer({size, usage: storage});
  const steps = plan.steps.map(step => {
    const words = Uint32Array.from(step.parameters);
    const size = Math.ceil(words.byteLength / 16) * 16;
    const parameters = device.createBuffer({size, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST});
    device.queue.writeBuffer(parameters, 0, words);
    const entries = step.buffers.map((name, binding) => ({binding, resource: {buffer: buffers[name]}}));
    entries.push({binding: plan.programs[step.program].bindings, resource: {buffer: parameters}});
    const pipeline = pipelines[step.program];
    return {pipeline, group: device.createBindGroup({layout: pipeline.getBindGroupLayout(0), entries}), groups: step.groups};
  });
  return async operands => {
    for (const [name, array] of Object.entries(operands)) device.queue.writeBuffer(buffers[name], 0, array);
    const encoder = device.createCommandEncoder(), pass = encoder.beginComputePass();
    for (const {pipeline, group, groups} of steps) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(...groups);
    }
    pass.end();
    const result = device.createBuffer({size: plan.bytes.c, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ});
    encoder.copyBufferToBuffer(buffers.c, 0, result, 0, plan.bytes.c);
    device.queue.submit([encoder.finish()]);
    await result.mapAsync(GPUMapMode.READ);
    return result.getMappedRange().slice(0);
  };
}
`;
}

/** What a finished search (tuning.js) found, as plain data. */
export function resultsOf(tuning) {
  const kernels = [...tuning.kernels.values()].map(kernel => ({
    variant: kernel.variant, name: kernel.name, family: kernel.family, samples_ns: kernel.samples.map(Math.round),
    failed: kernel.failed, certified: kernel.certified === true, final: kernel.final === true,
  }));
  const winner = tuning.best().find(kernel => kernel.certified);
  const result = {
    problem: tuning.problem, text: tuning.search.text, flops: tuning.search.flops, bytes: tuning.search.bytes, bound_ns: tuning.search.bound_ns,
    adapter: tuning.adapter, rates: tuning.rates, kernels, cpu_ns: tuning.cpu ?? null, baseline: tuning.baseline ?? null,
    candidates: tuning.search.candidates, winner: null,
  };
  if (winner) {
    const plan = tuning.engine.ask('programs', {variant: winner.variant});
    for (const program of plan.programs) {
      program.wgsl = tuning.compiler.wgsl(program);
      delete program.glsl;
    }
    result.winner = {
      variant: winner.variant, name: winner.name, family: winner.family, ns: median(winner.samples), spread: spread(winner.samples),
      certificate: winner.certificate, plan, roofline: tuning.engine.ask('roofline', {variant: winner.variant}),
    };
  }
  return result;
}
