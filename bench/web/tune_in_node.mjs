// The page's search without a browser, in Dawn for node:
//   scripts/web-tools run bench/web/tune_in_node.mjs PAGE MxNxK [SECONDS]
// PAGE is a folder of `rooftile web -o PAGE`. Prints the winner, and the 4x4 kernel's time from the same interleaved run. For
// lavapipe 26: ROOFTILE_WEB_TOOLS=$(scripts/web-tools path) scripts/newer-lavapipe run NODE bench/web/tune_in_node.mjs ...
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {certifier} from './tuning_services.mjs';

const [folder, sizes, seconds = '20'] = process.argv.slice(2);
const page = file => import(pathToFileURL(resolve(folder, file)));
const {create, globals} = await import(pathToFileURL(join(process.env.ROOFTILE_WEB_TOOLS, 'node_modules/webgpu/index.js')));
Object.assign(globalThis, globals);
Object.defineProperty(globalThis, 'navigator', {value: {gpu: create([]), userAgent: 'Dawn for node'}, configurable: true});
// emscripten 3.1.6 takes node for a host of CommonJS modules.
Object.assign(globalThis, {__dirname: resolve(folder), require: createRequire(import.meta.url)});

const {loadEngine} = await page('engine.js');
const {Tuning} = await page('tuning.js');
const {openStore} = await page('store.js');
const {loadTranslator} = await page('translate.mjs');
const bytes = file => readFileSync(resolve(folder, file));
const engineOf = () => loadEngine(pathToFileURL(resolve(folder, 'engine.mjs')), {wasmBinary: bytes('engine.wasm')});
const [engine, checker] = [await engineOf(), await engineOf()];
const translator = await loadTranslator({naga: await page('naga/index.js'), wasm: bytes('naga/wasm/naga_bg.wasm')});

const services = {engine, translator, store: await openStore(), ask: certifier(checker), report() {}};
const [m, n, k] = sizes.split('x').map(Number);
const tuning = new Tuning(services, {problem: {m, n, k, types: 'f32'}, budget: Number(seconds), known: []});
const {winner, baseline, kernels, adapter} = await tuning.run();
const gain = winner && baseline ? `, ${(baseline.ns / winner.ns).toFixed(2)} times the 4x4 kernel` : '';
console.log(`${adapter.name}, ${sizes}: ${winner ? `${winner.name}, ${(winner.ns / 1e6).toFixed(3)} ms` : 'no winner'}${gain}; ` +
            `${kernels.filter(kernel => kernel.samples_ns.length > 0).length} kernels measured`);
process.exit(winner ? 0 : 1);
