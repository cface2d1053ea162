// The engine (WebAssembly) behind three functions. Runs in workers and in node.

/** Loads the engine. `source`: URL of engine.mjs; `options`: as emscripten's module takes them. */
export async function loadEngine(source = new URL('./engine.mjs', import.meta.url), options = {}) {
  const factory = (await import(source)).default;
  return new Engine(await factory(options));
}

export class Engine {
  #module;

  constructor(module) {
    this.#module = module;
  }

  /** Calls `use` with the address of a copy of the text that ends with 0. */
  #withText(text, use) {
    const module = this.#module;
    const bytes = new TextEncoder().encode(text);
    const at = module._malloc(bytes.length + 1);
    module.HEAPU8.set(bytes, at);
    module.HEAPU8[at + bytes.length] = 0;
    try {
      return use(at);
    } finally {
      module._free(at);
    }
  }

  /** Answers a request (web/engine/engine.h). Throws an Error with the engine's sentence. */
  ask(op, request = {}) {
    const text = JSON.stringify({op, ...request});
    const answer = JSON.parse(this.#withText(text, at => this.#module.UTF8ToString(this.#module._rooftile_answer(at))));
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  }

  /** The engine's memory at {at, bytes} as a copy. */
  copyOf(memory) {
    return this.#module.HEAPU8.slice(memory.at, memory.at + memory.bytes);
  }

  /** Writes bytes to the engine's memory at {at, bytes}. */
  write(memory, bytes) {
    this.#module.HEAPU8.set(bytes.subarray(0, memory.bytes), memory.at);
  }

  /** SPIR-V of a compute shader. Throws an Error with glslang's message. */
  spirv(glsl) {
    const words = this.#withText(glsl, at => this.#module._rooftile_spirv(at));
    if (words === 0) throw new Error(this.#module.UTF8ToString(this.#module._rooftile_spirv_error()));
    const at = this.#module._rooftile_spirv_words();
    return this.#module.HEAPU8.slice(at, at + 4 * words);
  }

  /** One product of these sizes on this thread, for its time. */
  cpuProduct(m, n, k) {
    return this.#module._rooftile_cpu_product(m, n, k);
  }
}
