// Translates one kernel for `rooftile emit --target wgsl`:
//   node emit.mjs KERNEL.spv KERNEL.wgsl TOOLS
// TOOLS is the folder of scripts/web-tools, which holds node_modules/naga-wasm.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { loadTranslator } from './translate.mjs';

const [spirv, wgsl, tools] = process.argv.slice(2);
const naga = await import(pathToFileURL(join(tools, 'node_modules/naga-wasm/dist/node.js')));
const translator = await loadTranslator({ naga });
writeFileSync(wgsl, translator.spirvToWgsl(readFileSync(spirv)));
