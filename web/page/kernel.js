// A kernel on the device: programs, buffers and dispatches as the engine describes them (web/engine/programs.h).

/** GLSL to pipelines, once for each shader of a device. */
export class Compiler {
  #cache = new Map();

  constructor(gpu, engine, translator) {
    Object.assign(this, {gpu, engine, translator});
  }

  /** WGSL of one program. */
  wgsl(program) {
    return this.translator.spirvToWgsl(this.engine.spirv(program.glsl));
  }

  async pipeline(program, deadline) {
    let made = this.#cache.get(program.hash);
    if (!made) {
      made = await this.gpu.pipeline(this.wgsl(program), deadline);
      this.#cache.set(program.hash, made);
    }
    return made;
  }
}

/** The bind group of one step; bindings that the shader does not use are not in its layout. */
function bindGroup(gpu, pipeline, program, step, buffers, parameters) {
  const entries = step.buffers.map((name, binding) => ({binding, resource: {buffer: buffers[name]}}));
  entries.push({binding: program.bindings, resource: {buffer: parameters}});
  // layout 'auto' has only what the shader uses, and says so only by refusing the others.
  return gpu.device.createBindGroup({layout: pipeline.getBindGroupLayout(0), entries});
}

/**
 * Compiles a kernel and binds buffers. `contents`: bytes of buffers by name; others begin with zeros, or with NaN if
 * `poison`. `shared`: buffers that exist already. Returns {dispatches, buffers, release()}.
 */
export async function prepareKernel(compiler, plan, {contents = {}, shared = {}, poison = false, deadline}) {
  const {gpu} = compiler;
  const pipelines = [];
  for (const program of plan.programs) pipelines.push(await compiler.pipeline(program, deadline));
  const buffers = {...shared}, own = [];
  for (const [name, bytes] of Object.entries(plan.bytes)) {
    if (buffers[name]) continue;
    const size = Math.max(bytes, contents[name]?.length ?? 0);
    const nothing = poison && !contents[name] ? new Uint8Array(Math.ceil(size / 16) * 16).fill(0xff) : null;
    buffers[name] = gpu.buffer(size, contents[name] ?? nothing);
    own.push(buffers[name]);
  }
  const dispatches = [];
  for (const step of plan.steps) {
    const words = new Uint8Array(Uint32Array.from(step.parameters).buffer);
    const parameters = gpu.buffer(words.length, words, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    own.push(parameters);
    const pipeline = pipelines[step.program];
    dispatches.push({
      pipeline,
      group: bindGroup(gpu, pipeline, plan.programs[step.program], step, buffers, parameters),
      groups: step.groups,
    });
  }
  return {dispatches, buffers, release: () => own.forEach(buffer => buffer.destroy())};
}
