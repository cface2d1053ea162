// Loops that the templates mark with [[unroll]], written out. WGSL has no such mark, and not every
// driver unrolls by itself: SwiftShader keeps arrays with variable indices in memory.

const opName = 5, opFunction = 54, opLoopMerge = 246, unroll = 1;

/** Of each function by its name: whether its loops, in their order, are marked. */
export function markedLoops(spirv) {
  const words = new Uint32Array(spirv.slice().buffer);
  const names = new Map(), marks = new Map();
  let loops;
  for (let at = 5; at < words.length; at += words[at] >>> 16) {
    const opcode = words[at] & 0xffff;
    if (opcode === opName) {
      const bytes = new Uint8Array(words.buffer, 4 * (at + 2), 4 * ((words[at] >>> 16) - 2));
      names.set(words[at + 1], new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0))));
    }
    if (opcode === opFunction) marks.set(names.get(words[at + 2]), (loops = []));
    if (opcode === opLoopMerge) loops.push((words[at + 3] & unroll) !== 0);
  }
  return marks;
}

/** naga's name of a function of the GLSL, whose name in SPIR-V ends with its parameters' types. */
function nameInNaga(name) {
  if (name === 'main') return 'main_1';
  return name.replaceAll('(', '_u0028_').replaceAll(';', '_u003b_').replace(/_+$/, '');
}

/** The text of naga with all marked loops written out whose trips are known. */
export function withoutMarkedLoops(text, spirv) {
  const marks = new Map();
  for (const [name, loops] of markedLoops(spirv)) marks.set(nameInNaga(name), loops);
  return text.replace(/^fn (\w+)\([^]*?^}\n/gm, (body, name) => {
    const loops = marks.get(name.replace(/_+$/, ''));
    if (!loops || loops.length !== [...body.matchAll(/^ +loop \{$/gm)].length) return body;
    return unrolled(body.split('\n'), [...loops]).join('\n');
  });
}

/** Lines of statements without their marked loops; takes the marks of these loops from `marks`. */
function unrolled(lines, marks) {
  const result = [];
  for (let at = 0; at < lines.length; ++at) {
    if (!lines[at].endsWith(' loop {')) {
      result.push(lines[at]);
      continue;
    }
    const indent = lines[at].match(/^ */)[0];
    const end = lines.indexOf(`${indent}}`, at);
    const marked = marks.shift();
    const inner = unrolled(lines.slice(at + 1, end), marks);
    const loop = marked && trips(indent, result.at(-1), inner);
    if (loop) result.splice(-1, 1, ...loop.flatMap((value) => written(indent, inner, value)));
    else result.push(lines[at], ...inner, lines[end]);
    at = end;
  }
  return result;
}

/** The values of the counter of a loop as naga writes the loops of GLSL, or nothing where they are not known. */
function trips(indent, before, lines) {
  const [, counter, first] = before.match(/^ *(\w+) = (\d+)[ui];$/) ?? [];
  const [, read] = lines[0].match(new RegExp(`^ *let (\\w+) = ${counter};$`)) ?? [];
  const [, limit] = lines[1].match(new RegExp(`^ *if \\(${read} < (\\d+)[ui]\\) \\{$`)) ?? [];
  const end = lines.slice(-9).map((line) => line.slice(indent.length + 4));
  const [, step] = end.at(-2).match(new RegExp(`^ {4}${counter} = \\(\\w+ \\+ (?:bitcast<u32>\\()?(\\d+)[ui]\\)?\\);$`)) ?? [];
  const shape = ['    continue;', '} else {', '    break;', '}', 'continuing {'];
  if (!limit || !step || shape.some((line, i) => end[end.length - 8 + i] !== line)) return undefined;
  if (leaves(lines.slice(2, -8))) return undefined;
  const values = [];
  for (let value = Number(first); value < Number(limit); value += Number(step)) values.push(value);
  return values;
}

/** Whether statements of a loop end a trip or the loop early; those of loops in it do not. */
function leaves(lines) {
  let closing;
  return lines.some((line) => {
    if (closing !== undefined) {
      if (line === closing) closing = undefined;
      return false;
    }
    if (line.endsWith(' loop {')) closing = line.replace('loop {', '}');
    return /^ *(break|continue);$/.test(line);
  });
}

/** One trip, as a block because trips declare the same names. */
function written(indent, lines, value) {
  const [, counter] = lines[0].match(/^ *let \w+ = (\w+);$/);
  const [, suffix] = lines[1].match(/([ui])\) \{$/);
  const read = new RegExp(`^( *let \\w+ = )${counter};$`);
  const body = lines.slice(2, -8).map((line) => line.replace(read, `$1${value}${suffix};`).slice(4));
  return [`${indent}{`, ...body, `${indent}}`];
}
