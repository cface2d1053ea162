// Certificates: the adversarial problems of native ones. The other worker makes them and compares in float64.
import {prepareKernel} from './kernel.js';
import {kCompileMs, kRunMs} from './measure.js';

/** Bytes of C after one case. */
async function runCase(tuning, {plan, contents}) {
  const {gpu, compiler} = tuning;
  const prepared = await prepareKernel(compiler, plan, {contents, poison: true, deadline: kCompileMs});
  try {
    await gpu.time(prepared.dispatches, 1, kRunMs);
    return await gpu.read(prepared.buffers.c, contents.c.length, kRunMs);
  } finally {
    prepared.release();
  }
}

/** Sets kernel.certified; a kernel that computes wrongly is blocked. */
export async function certify(tuning, kernel) {
  const certificate = await tuning.attempt(kernel, async () => {
    const {cases} = await tuning.ask('certify', {variant: kernel.variant, problem: tuning.problem, adapter: tuning.adapter});
    let worst = 0;
    for (let index = 0; index < cases; ++index) {
      tuning.report({kind: 'phase', text: `Checking ${kernel.name} against float64: ${index + 1} of ${cases}`});
      const c = await runCase(tuning, await tuning.ask('prepare', {index}));
      const {ok, ratio, wrong} = await tuning.ask('compare', {c});
      if (!ok) throw new Error(`wrong result: ${wrong}`);
      worst = Math.max(worst, ratio);
    }
    return {cases, worst};
  });
  kernel.certified = certificate !== null;
  kernel.certificate = certificate;
}
