// SPIR-V of a kernel in the web dialect (generator/web/) to WGSL: naga translates, and what it
// writes is adapted to what WGSL demands (wgsl_text.mjs). Runs in node, in a page and in a worker.

import { withoutMarkedLoops } from './unroll.mjs';
import { adapt } from './wgsl_text.mjs';

/**
 * Loads naga. `naga` is the module naga-wasm (its index.js); without it the module is imported by
 * its name. `wasm` is naga_bg.wasm as URL, Response or bytes; without it, it lies beside the module.
 */
export async function loadTranslator({ naga, wasm } = {}) {
  const module = naga ?? (await import('naga-wasm'));
  if (module.init && (naga || wasm)) await module.init(wasm ? { module_or_path: wasm } : undefined);
  return { spirvToWgsl: (spirv) => adapt(withoutMarkedLoops(nagaText(module, spirv), spirv)) };
}

/** Throws NagaError, whose `formatted` is a full report, where naga does not know an instruction. */
function nagaText(naga, spirv) {
  const module = naga.parseSpirv(spirv);
  try {
    const info = naga.validate(module);
    try {
      return naga.writeWgsl(module, info, {});
    } finally {
      info.free();
    }
  } finally {
    module.free();
  }
}
