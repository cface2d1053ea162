// Kernels of a batch are compiled side by side, because a driver takes seconds for some of them.
import {DeviceFailure} from './gpu.js';

/** One after the other, so that a failure of the device has one possible cause. */
async function oneByOne(tuning, kernels) {
  const ready = [];
  for (const kernel of kernels) {
    const prepared = await tuning.attempt(kernel, () => tuning.prepare(kernel));
    if (prepared) ready.push({kernel, prepared, gpu: tuning.gpu});
  }
  return ready.filter(({gpu}) => gpu === tuning.gpu);
}

async function prepareOrBlock(tuning, kernel) {
  try {
    return {kernel, prepared: await tuning.prepare(kernel)};
  } catch (failure) {
    if (failure instanceof DeviceFailure || tuning.gpu.lost) throw failure;
    await tuning.block(kernel, failure.message);
    return null;
  }
}

async function sideBySide(tuning, kernels, add) {
  await tuning.store.put(`running|${tuning.key}`, {several: true});
  try {
    await Promise.all(kernels.map(async kernel => add(await prepareOrBlock(tuning, kernel))));
  } finally {
    await tuning.store.put(`running|${tuning.key}`, null);
  }
}

/** Resolves at `end` or when Stop is pressed; `cancel` lets go. */
function timeOver(tuning, end) {
  let timer;
  const over = new Promise(resolve => {
    timer = setInterval(() => {
      if (tuning.stopped || performance.now() >= end) resolve(null);
    }, 50);
  });
  return {over, cancel: () => clearInterval(timer)};
}

/**
 * What of these kernels is compiled before the time is over: [{kernel, prepared}], one at least where nothing was measured before.
 * A kernel that does not compile is blocked.
 */
export async function preparedBatch(tuning, kernels, end) {
  if (tuning.careful) return oneByOne(tuning, kernels);
  const {over, cancel} = timeOver(tuning, end);
  const ready = [];
  let first;
  const one = new Promise(resolve => { first = resolve; });
  const preparing = sideBySide(tuning, kernels, entry => {
    if (!entry) return;
    ready.push(entry);
    first();
  });
  // Compilers cannot be stopped: finals wait for those that were given up.
  tuning.compiling = preparing.then(() => null, () => null);
  try {
    await Promise.race([preparing, over]);
    if (ready.length === 0 && tuning.bestNs() === Infinity && !tuning.stopped) await Promise.race([preparing, one]);
    return [...ready];
  } catch (failure) {
    if (!(failure instanceof DeviceFailure) && !tuning.gpu.lost) throw failure;
    // No kernel can be blamed for it.
    tuning.careful = true;
    await tuning.reopen();
    return oneByOne(tuning, kernels.filter(kernel => kernel.failed === null));
  } finally {
    cancel();
  }
}
