// The kernel that winners are compared with: one invocation computes 4x4 elements of C in registers, with vectors of four
// floats, without staging and without tuning.

const kSide = 4, kWorkgroup = [8, 8];

/** WGSL for row-major m x k times k x n float32, rows padded to whole vectors. */
function wgsl(m, n, k) {
  const columns = Math.ceil(n / 4), depth = Math.ceil(k / 4);
  const rows = [0, 1, 2, 3];
  return `
@group(0) @binding(0) var<storage, read> a : array<vec4f>;
@group(0) @binding(1) var<storage, read> b : array<vec4f>;
@group(0) @binding(2) var<storage, read_write> c : array<vec4f>;
const m = ${m}u; const columns = ${columns}u; const depth = ${depth}u; const k = ${k}u;
@compute @workgroup_size(${kWorkgroup[0]}, ${kWorkgroup[1]}) fn main(@builtin(global_invocation_id) id : vec3u) {
  let column = id.x; let row = 4 * id.y;
  if (column >= columns || row >= m) { return; }
  ${rows.map(i => `var sum${i} = vec4f(); let start${i} = min(row + ${i}, m - 1) * depth;`).join('\n  ')}
  for (var at = 0u; at < depth; at++) {
    ${rows.map(i => `let b${i} = b[min(4 * at + ${i}, k - 1) * columns + column];`).join('\n    ')}
    ${rows.map(i => `let a${i} = a[start${i} + at];
    sum${i} += a${i}.x * b0 + a${i}.y * b1 + a${i}.z * b2 + a${i}.w * b3;`).join('\n    ')}
  }
  ${rows.map(i => `if (row + ${i} < m) { c[(row + ${i}) * columns + column] = sum${i}; }`).join('\n  ')}
}`;
}

/** Whether the baseline computes this problem. */
export function hasBaseline(problem) {
  return problem.types === 'f32' && !problem.trans_a && !problem.trans_b && problem.batch === 1;
}

/** Zeroes what pads the rows of A: the baseline multiplies it with rows of B that repeat the last one. */
export function withoutPadding(a, problem) {
  const floats = new Float32Array(a.buffer.slice(a.byteOffset, a.byteOffset + a.byteLength));
  const ld = Math.ceil(problem.k / 4) * 4;
  for (let row = 0; row < problem.m; ++row) floats.fill(0, row * ld + problem.k, (row + 1) * ld);
  return new Uint8Array(floats.buffer);
}

/** The baseline on these buffers of A and B: {dispatches, buffers}. */
export async function prepareBaseline(gpu, problem, shared, deadline) {
  const pipeline = await gpu.pipeline(wgsl(problem.m, problem.n, problem.k), deadline);
  const c = gpu.buffer(4 * problem.m * Math.ceil(problem.n / 4) * 4);
  const buffers = {a: shared.a, b: shared.b, c};
  const entries = [shared.a, shared.b, c].map((buffer, binding) => ({binding, resource: {buffer}}));
  const group = gpu.device.createBindGroup({layout: pipeline.getBindGroupLayout(0), entries});
  const groups = [Math.ceil(problem.n / (4 * kWorkgroup[0])), Math.ceil(problem.m / (kSide * kWorkgroup[1])), 1];
  return {dispatches: [{pipeline, group, groups}], buffers, release: () => c.destroy()};
}
