// Searches with the engine's WebAssembly module as the page does, with invented times, and prints every request and answer as
// a line of JSON. Arguments: the folder of the assets, that of the page's own files, the requests to start with as JSON.
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';
import {join} from 'node:path';

const [assets, page, starts] = process.argv.slice(2);
const {loadEngine} = await import(pathToFileURL(join(page, 'engine.js')));
// emscripten 3.1.6 takes node for a host of CommonJS modules.
Object.assign(globalThis, {__dirname: assets, require: createRequire(join(assets, 'engine.mjs'))});
const engine = await loadEngine(pathToFileURL(join(assets, 'engine.mjs')), {wasmBinary: readFileSync(join(assets, 'engine.wasm'))});

function ask(request) {
  const {op, ...rest} = request;
  const answer = engine.ask(op, rest);
  console.log(JSON.stringify({request, answer}));
  return answer;
}

/** A time that depends on the kernel alone: what the model expects, up to eight times as long. */
function invented({variant, expected_ns: expected}) {
  let hash = 2166136261;
  for (const character of variant) hash = Math.imul(hash ^ character.charCodeAt(0), 16777619) >>> 0;
  // Whole ns, so that a last bit of the expectation changes nothing.
  return Math.round(expected * (1 + hash % 1000 / 140)) + 1000;
}

for (const start of JSON.parse(starts)) {
  ask({op: 'start', ...start});
  for (let batch = 0; batch < 10; ++batch)
    for (const candidate of ask({op: 'propose', count: 4}).proposed)
      ask({op: 'observe', candidate, ns: candidate % 9 === 0 ? null : invented(ask({op: 'candidate', candidate}))});
}
