// The changes to naga's WGSL, each on a text like naga's.

import assert from 'node:assert/strict';
import test from 'node:test';

import { featuresOf, layoutEntries } from '../../web/wgsl/bindings.mjs';
import { markedLoops, withoutMarkedLoops } from '../../web/wgsl/unroll.mjs';
import {
  withBuiltinParameters, withPackedDots, withPlainNames, withReadOnlyBuffers, withSubgroups,
} from '../../web/wgsl/wgsl_text.mjs';

const word = (opcode, ...operands) => [(operands.length + 1) << 16 | opcode, ...operands];
const text = (name) => [...new Uint32Array(new TextEncoder().encode(name.padEnd(Math.floor(name.length / 4) * 4 + 4, '\0')).buffer)];

/** SPIR-V with a function of this name whose loops have these controls. */
function spirv(name, controls) {
  const words = [0x07230203, 0x10300, 0, 9, 0, ...word(5, 4, ...text(name)), ...word(54, 1, 4, 0, 2),
    ...controls.flatMap((control) => word(246, 5, 6, control))];
  return new Uint8Array(new Uint32Array(words).buffer);
}

const loop = (counter, limit, body, indent = '    ') => `${indent}${counter} = 0u;
${indent}loop {
${indent}    let _e1${counter} = ${counter};
${indent}    if (_e1${counter} < ${limit}) {
${body}
${indent}        continue;
${indent}    } else {
${indent}        break;
${indent}    }
${indent}    continuing {
${indent}        let _e2${counter} = ${counter};
${indent}        ${counter} = (_e2${counter} + bitcast<u32>(1i));
${indent}    }
${indent}}
`;
const inFunction = (body) => `fn f_u0028_u1_u003b(x: ptr<function, u32>) {
    var i: u32;

${body}    return;
}
`;

test('loops are found with their marks', () => {
  assert.deepEqual(markedLoops(spirv('f(u1;', [1, 0, 2])), new Map([['f(u1;', [true, false, false]]]));
});

test('a marked loop is written out', () => {
  const before = inFunction(loop('i', '2u', '            let _e3 = i;\n            a[_e3] = 7u;'));
  const after = withoutMarkedLoops(before, spirv('f(u1;', [1]));
  assert.equal(after, inFunction(`    {
        let _e3 = 0u;
        a[_e3] = 7u;
    }
    {
        let _e3 = 1u;
        a[_e3] = 7u;
    }
`));
});

test('a marked loop in one without a mark is written out', () => {
  const inner = loop('j', '3u', '                    let _e4 = j;', '            ').trimEnd();
  const after = withoutMarkedLoops(inFunction(loop('i', '2u', inner)), spirv('f(u1;', [0, 1]));
  assert.equal(after.match(/loop \{/g).length, 1);
  assert.deepEqual(after.match(/let _e4 = \du;/g), ['let _e4 = 0u;', 'let _e4 = 1u;', 'let _e4 = 2u;']);
});

test('a loop stays where it has no mark, no known end, or a way out', () => {
  const same = (body, controls) => {
    const before = inFunction(body);
    assert.equal(withoutMarkedLoops(before, spirv('f(u1;', controls)), before);
  };
  same(loop('i', '2u', '            let _e3 = i;'), [0]);
  same(loop('i', '_e9', '            let _e3 = i;'), [1]);
  same(loop('i', '2u', '            if _e5 {\n                break;\n            }'), [1]);
  same(loop('i', '2u', '            let _e3 = i;'), [1, 1]);
});

test('names are those of the GLSL', () => {
  const before = `@group(0) @binding(3) 
var<uniform> unnamed: GemmProblem;

fn load_u0028_u1_u003b(i: ptr<function, u32>) {
}

fn load_u0028_f1_u003b(i_1: ptr<function, f32>) {
    load_u0028_u1_u003b((&i_1), unnamed.m, bitcast<u32>(1i));
}
`;
  const after = withPlainNames(before);
  assert.match(after, /^var<uniform> gemm_problem: GemmProblem;$/m);
  assert.match(after, /^fn load\(i: /m);
  assert.match(after, /^fn load_2\(i_1: /m);
  assert.match(after, /load\(\(&i_1\), gemm_problem\.m, 1u\);/);
});

test('built-in values are parameters', () => {
  const after = withBuiltinParameters(`var<private> group_1: vec3<u32>;

fn leaf() -> u32 {
    let _e1 = group_1[2u];
    return _e1;
}

fn other(x: ptr<function, u32>) {
}

fn middle(x_1: ptr<function, u32>) {
    let _e2 = leaf();
    other((&x_1));
}

fn main_1() {
    middle((&x_2));
}

@compute @workgroup_size(8, 1, 1) 
fn main(@builtin(workgroup_id) group: vec3<u32>) {
    group_1 = group;
    main_1();
}
`);
  assert.doesNotMatch(after, /private|group_1/);
  assert.match(after, /^fn leaf\(workgroup_id: vec3<u32>\) -> u32 \{\n {4}let _e1 = workgroup_id\[2u\];/m);
  assert.match(after, /^fn middle\(workgroup_id: vec3<u32>, x_1: ptr<function, u32>\) \{\n {4}let _e2 = leaf\(workgroup_id\);/m);
  assert.match(after, /^fn other\(x: /m);
  assert.match(after, /^fn main\(@builtin\(workgroup_id\) workgroup_id: vec3<u32>\) \{\n {4}main_1\(workgroup_id\);\n\}/m);
});

test('buffers that are not written are read-only', () => {
  const after = withReadOnlyBuffers(`var<storage, read_write> a: A;
var<storage, read_write> b: B;
var<storage, read_write> c: C;

fn main() {
    let _e1 = a.a[1u];
    b.b[(_e1 + 2u)][3u] = a.a[0u];
    let _e2 = atomicLoad((&c.words[1u]));
}
`);
  assert.match(after, /^var<storage> a: A;$/m);
  assert.match(after, /^var<storage, read_write> b: B;$/m);
  assert.match(after, /^var<storage, read_write> c: C;$/m);
});

test('packed dot products are those of WGSL', () => {
  const dot = (name) => `fn ${name}(x: ptr<function, i32>, y: ptr<function, i32>) -> i32 {
    var sum: i32;

    return sum;
}
`;
  assert.equal(withPackedDots(dot('dot_of_four_signed')),
    `fn dot_of_four_signed(x: ptr<function, i32>, y: ptr<function, i32>) -> i32 {
    return dot4I8Packed(bitcast<u32>((*x)), bitcast<u32>((*y)));
}
`);
  assert.match(withPackedDots(dot('dot_of_four_unsigned')), /return i32\(dot4U8Packed\(.*\)\)\)\);\n/);
});

test('subgroups are asked for', () => {
  assert.equal(withSubgroups('fn main() {\n}\n'), 'fn main() {\n}\n');
  assert.match(withSubgroups('    let _e1 = subgroupBroadcast(_e2, 0u);\n'), /^enable subgroups;\n/);
});

test('bindings and features are read from the text', () => {
  const wgsl = `enable f16;
enable subgroups;
@group(0) @binding(0) 
var<storage> a: A;
@group(0) @binding(2) 
var<storage, read_write> c: C;
@group(0) @binding(3) 
var<uniform> problem: Problem;
`;
  assert.deepEqual(layoutEntries(wgsl, 4), [
    { binding: 0, visibility: 4, buffer: { type: 'read-only-storage' } },
    { binding: 2, visibility: 4, buffer: { type: 'storage' } },
    { binding: 3, visibility: 4, buffer: { type: 'uniform' } },
  ]);
  assert.deepEqual(featuresOf(wgsl), ['shader-f16', 'subgroups']);
});
