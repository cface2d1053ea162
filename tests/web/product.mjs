// The products of web_kernels: operands, and C in float64 with a bound of the error.

const half = new Float32Array(1), halfBits = new Uint32Array(half.buffer);

function fromF16(bits) {
  const exponent = bits >> 10 & 31, mantissa = bits & 1023, sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 31) return mantissa ? NaN : sign * Infinity;
  return sign * (exponent ? (1 + mantissa / 1024) * 2 ** (exponent - 15) : mantissa * 2 ** -24);
}
/** Of numbers that float16 has. */
function toF16(x) {
  if (Number.isNaN(x)) return 0x7e00;
  half[0] = x;
  const bits = halfBits[0], exponent = bits >> 23 & 255;
  return bits >> 16 & 0x8000 | (exponent ? exponent - 112 << 10 | bits >> 13 & 1023 : 0);
}
function fromBf16(bits) {
  halfBits[0] = bits << 16;
  return half[0];
}
function toBf16(x) {
  half[0] = x;
  return halfBits[0] >>> 16;
}

// Of each type: its array, how numbers are stored, and half a unit in the last place of 1.
const types = {
  f32: { array: Float32Array, store: (x) => x, load: (x) => x, unit: 2 ** -24 },
  f16: { array: Uint16Array, store: toF16, load: fromF16, unit: 2 ** -11 },
  bf16: { array: Uint16Array, store: toBf16, load: fromBf16, unit: 2 ** -8 },
  i8: { array: Int8Array, store: (x) => x, load: (x) => x },
  u8: { array: Uint8Array, store: (x) => x, load: (x) => x },
  i32: { array: Int32Array, store: (x) => x, load: (x) => x },
};
const canary = 12345, canaries = 64;
const activations = [
  (x) => x,
  (x) => Math.max(x, 0),
  (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  (x) => x / (1 + Math.exp(-x)),
];

/** A series without cancellation: exp(-x^2) times a sum of positive terms. */
function erf(x) {
  let term = x, sum = x;
  for (let i = 1; Math.abs(term) > 1e-18 * Math.abs(sum); ++i) sum += term *= 2 * x * x / (2 * i + 1);
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

/** Numbers that repeat in every run (mulberry32). */
function randomFrom(seed) {
  return () => {
    seed = seed + 0x6d2b79f5 | 0;
    let t = Math.imul(seed ^ seed >>> 15, 1 | seed);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  };
}

/** A value of the type; those of 16 bits are few enough that both types have them. */
function valueOf(type, random) {
  if (type === 'i8') return Math.floor(random() * 256) - 128;
  if (type === 'u8') return Math.floor(random() * 256);
  if (type === 'f32') return Math.fround(random() * 2 - 1);
  return Math.round(random() * 128 - 64) / 64;
}

/** Elements in a buffer of whole vectors of 16 bytes, all `fill` at first. */
function makeBuffer(type, elements, fill) {
  const { array, store } = types[type];
  const vector = 16 / array.BYTES_PER_ELEMENT;
  return new array(Math.max(1, Math.ceil(elements / vector)) * vector).fill(store(fill));
}

/** The addresses of a stored matrix of all products of the batch. */
function* addresses(rows, columns, offset, ld, stride, batch) {
  for (let z = 0; z < batch; ++z)
    for (let r = 0; r < rows; ++r)
      for (let c = 0; c < columns; ++c) yield offset + z * stride + r * ld + c;
}

function matrix(type, elements, shape, random) {
  const buffer = makeBuffer(type, elements, type.includes('8') ? 77 : NaN);
  for (const address of addresses(...shape)) buffer[address] = types[type].store(valueOf(type, random));
  return buffer;
}

function bytesOfQuantized(product, random) {
  const count = product.n * product.ldb * product.quant_bits / 8;
  return new Uint8Array(Math.ceil(count / 16) * 16).map(() => Math.floor(random() * 256));
}

function zeroPoints(product, blocks, random) {
  if (product.zero_point === 2) {
    const buffer = makeBuffer(product.type_a, product.n * blocks, NaN);
    for (let i = 0; i < product.n * blocks; ++i)
      buffer[i] = types[product.type_a].store(Math.floor(random() * 2 ** product.quant_bits));
    return buffer;
  }
  const bytes = product.n * Math.ceil(blocks * product.quant_bits / 8);
  return new Uint8Array(Math.ceil(bytes / 16) * 16).map(() => Math.floor(random() * 256));
}

/** The buffers of a product by the names of its bindings, with NaN or arbitrary values around them. */
export function makeOperands(p) {
  const random = randomFrom(20261123);
  const [rowsA, columnsA] = p.trans_a ? [p.k, p.m] : [p.m, p.k];
  const [rowsB, columnsB] = p.trans_b ? [p.n, p.k] : [p.k, p.n];
  const x = { a: matrix(p.type_a, p.elements_a, [rowsA, columnsA, p.offset_a, p.lda, p.stride_a, p.batch], random) };
  if (p.quant_bits) {
    const blocks = p.ldb / p.quant_block;
    x.b = bytesOfQuantized(p, random);
    x.scales = makeBuffer(p.type_a, p.n * blocks, NaN);
    for (let i = 0; i < p.n * blocks; ++i)
      x.scales[i] = types[p.type_a].store((1 + Math.floor(random() * 64)) / 512);
    if (p.zero_point) x.zero_points = zeroPoints(p, blocks, random);
  } else {
    x.b = matrix(p.type_a, p.elements_b, [rowsB, columnsB, p.offset_b, p.ldb, p.stride_b, p.batch], random);
  }
  x.c = makeBuffer(p.type_c, p.elements_c + canaries, p.type_c === 'f16' || p.type_c === 'bf16' ? 96 : canary);
  for (const address of addresses(p.m, p.n, p.offset_c, p.ldc, p.stride_c, p.batch))
    x.c[address] = types[p.type_c].store(p.beta ? valueOf(p.type_c, random) : p.type_c === 'i32' ? -1 : NaN);
  x.vectors = makeBuffer('f32', p.vectors, 0).map(() => valueOf('f32', random));
  x.residual = makeBuffer('f32', p.residual, 0).map(() => valueOf('f32', random));
  for (const name of ['packed_a', 'packed_b', 'parts']) x[name] = makeBuffer('f32', p[name], NaN);
  return x;
}

/** One value of op(B) as a function of product, step and column. */
function readerOfB(p, x) {
  const { load } = types[p.type_a];
  if (!p.quant_bits)
    return (z, u, j) => load(x.b[p.offset_b + z * p.stride_b + (p.trans_b ? j * p.ldb + u : u * p.ldb + j)]);
  const blocks = p.ldb / p.quant_block, bits = p.quant_bits, mask = 2 ** bits - 1;
  const value = (bytes, firstByte, i) => bytes[firstByte + (i * bits >> 3)] >> (i * bits & 7) & mask;
  const zero = (j, block) =>
    p.zero_point === 0 ? 2 ** (bits - 1)
    : p.zero_point === 1 ? value(x.zero_points, j * Math.ceil(blocks * bits / 8), block)
    : load(x.zero_points[j * blocks + block]);
  return (_, u, j) => {
    const block = Math.floor(u / p.quant_block);
    return (value(x.b, j * p.ldb * bits / 8, u) - zero(j, block)) * load(x.scales[j * blocks + block]);
  };
}

/** gamma_r = r u / (1 - r u): the relative error bound of r roundings (Higham, 3.1). */
function gamma(roundings, unit) {
  return roundings * unit / (1 - roundings * unit);
}

/** The value and the bound of the error of one element of C, after the sum over k. */
function finished(p, x, before, z, i, j, sum, magnitude) {
  const sumUnit = p.f16_sums ? types.f16.unit : types.f32.unit;
  // Sums are exact in integers; else each step of k, of dequantisation and of split-K rounds once.
  const roundings = p.type_a.includes('8') ? 0 : p.k + 2 + p.split_k;
  const epilogueUnit = types.f32.unit, epilogueRoundings = 8;
  let bound = gamma(roundings, sumUnit) * magnitude * Math.abs(p.alpha);
  let y = p.alpha * sum, size = Math.abs(p.alpha) * magnitude;
  const scale = (p.row_scale ? x.vectors[p.offset_row_scale + i] : 1) *
    (p.column_scale ? x.vectors[p.offset_column_scale + j] : 1);
  y *= scale, bound *= Math.abs(scale), size *= Math.abs(scale);
  const old = p.beta ? p.beta * types[p.type_c].load(before) : 0;
  const bias = p.bias ? x.vectors[p.offset_bias + (p.bias === 1 ? i : j)] : 0;
  y += old + bias, size += Math.abs(old) + Math.abs(bias);
  bound += gamma(epilogueRoundings, epilogueUnit) * size;
  if (p.activation > 1) {
    // No activation is steeper than 1.13, and exp has an error of 3 + 2 |x| units (WGSL), here in
    // functions whose relative error is a few times that.
    bound = 1.13 * bound + 4 * (3 + 2 * Math.abs(y)) * 2 * epilogueUnit * Math.abs(y);
  }
  y = activations[p.activation](y);
  if (p.residual) {
    const residual = x.residual[z * p.stride_residual + i * p.ld_residual + j];
    bound += epilogueUnit * (Math.abs(y) + Math.abs(residual));
    y += residual;
  }
  if (p.type_c !== 'f32' && p.type_c !== 'i32')
    bound += types[p.type_c].unit * (Math.abs(y) + bound) + 2 ** -24;
  return { y, bound: p.type_c === 'i32' ? 0 : bound };
}

/** "" where every element of C is within its bound and nothing around C changed; else the first difference. */
export function difference(p, x, c) {
  const { load } = types[p.type_c], loadA = types[p.type_a].load, b = readerOfB(p, x);
  const inC = new Set();
  for (let z = 0; z < p.batch; ++z)
    for (let i = 0; i < p.m; ++i)
      for (let j = 0; j < p.n; ++j) {
        let sum = 0, magnitude = 0;
        for (let u = 0; u < p.k; ++u) {
          const term = loadA(x.a[p.offset_a + z * p.stride_a + (p.trans_a ? u * p.lda + i : i * p.lda + u)]) * b(z, u, j);
          sum += term, magnitude += Math.abs(term);
        }
        const address = p.offset_c + z * p.stride_c + i * p.ldc + j;
        inC.add(address);
        const { y, bound } = finished(p, x, x.c[address], z, i, j, sum, magnitude);
        if (!(Math.abs(load(c[address]) - y) <= bound))
          return `product ${z}: C[${i}][${j}] is ${load(c[address])} instead of ${y} +- ${bound}`;
      }
  for (let address = 0; address < c.length; ++address)
    if (!inC.has(address) && c[address] !== x.c[address]) return `element ${address} beside C became ${c[address]}`;
  return '';
}
