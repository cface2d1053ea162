// Owns the device: searches, measures and runs the cases of certificates. The page starts it and ends it when it hangs.
import {loadEngine} from './engine.js';
import {openDevice} from './gpu.js';
import * as naga from './naga/index.js';
import {openStore} from './store.js';
import {loadTranslator} from './translate.mjs';
import {Tuning} from './tuning.js';

let services = null, tuning = null;

/** Calls the certificate worker through its port. */
function asker(port) {
  const waiting = new Map();
  let next = 0;
  port.onmessage = ({data: {id, answer, error}}) => {
    const {resolve, reject} = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(answer); else reject(new Error(error));
  };
  return (what, request) => new Promise((resolve, reject) => {
    waiting.set(++next, {resolve, reject});
    port.postMessage({id: next, what, request});
  });
}

async function prepare(port) {
  const report = event => postMessage(event);
  const [engine, translator, store] = await Promise.all([
    loadEngine(), loadTranslator({naga, wasm: new URL('./naga/wasm/naga_bg.wasm', import.meta.url)}), openStore(),
  ]);
  services = {engine, translator, store, ask: asker(port), report};
}

async function run(options) {
  tuning = new Tuning(services, options);
  const results = await tuning.run();
  await services.store.put('session', null);
  postMessage({kind: 'finished', results, stopped: tuning.stopped});
}

const commands = {
  prepare: async ({ports}) => {
    await prepare(ports[0]);
    const gpu = await openDevice();
    postMessage({kind: 'ready', adapter: gpu.about, session: await services.store.get('session')});
    gpu.close();
  },
  start: async ({data}) => {
    await services.store.put('session', {options: data.options, since: Date.now()});
    await run(data.options);
  },
  stop: async () => tuning?.stop(),
};

onmessage = async event => {
  try {
    await commands[event.data.command](event);
  } catch (failure) {
    if (event.data.command === 'start') await services.store.put('session', null);
    postMessage({kind: 'failed', text: failure.message, command: event.data.command});
  }
};
