// Changes to the WGSL that naga writes. Each takes a text and returns one; they rely on naga's way
// of writing: one statement a line, functions that end with a brace in the first column, and
// identifiers that are unique in the module.

const identifier = (name) => new RegExp(`\\b${name}\\b`);
const everywhere = (name) => new RegExp(`\\b${name}\\b`, 'g');

/** A name that the text does not have yet, except for built-in values: `wanted`, or with a number behind it. */
function freeName(text, wanted) {
  const used = text.replace(/@builtin\(\w+\)/g, '');
  let name = wanted;
  for (let i = 2; identifier(name).test(used); ++i) name = `${wanted}_${i}`;
  return name;
}

function renamed(text, from, wanted) {
  return text.replace(everywhere(from), freeName(text, wanted));
}

/** Functions by name, each with its whole text, in the order of the module. */
function functionsOf(text) {
  const functions = new Map();
  for (const match of text.matchAll(/^fn (\w+)\([^]*?^}\n/gm)) functions.set(match[1], match[0]);
  return functions;
}

/**
 * Names as in the GLSL: naga writes the types of the parameters into the name of a function, and
 * calls a block without a name "unnamed".
 */
export function withPlainNames(text) {
  let result = text;
  for (const [name] of text.matchAll(/(?<=^fn )\w+?_u0028_\w*(?=\()/gm))
    result = renamed(result, name, name.slice(0, name.indexOf('_u0028_')));
  for (const [, name, type] of text.matchAll(/^var<[^>]*> (unnamed\w*): (\w+);$/gm))
    result = renamed(result, name, type.replace(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase());
  return result.replace(/bitcast<u32>\((\d+)i\)/g, '$1u');
}

/**
 * Built-in values as parameters of the functions that use them. naga keeps them in variables of the
 * module, of which WGSL does not believe that all invocations of a workgroup have the same value.
 */
export function withBuiltinParameters(text) {
  let result = text;
  for (const [, builtin, parameter, type] of text.matchAll(/@builtin\((\w+)\) (\w+): ([\w<>]+)/g)) {
    const variable = text.match(new RegExp(`^ {4}(\\w+) = ${parameter};\\n`, 'm'))?.[1];
    if (!variable) throw new Error(`naga does not keep the built-in value ${builtin} in a variable`);
    result = result
      .replace(new RegExp(`^var<private> ${variable}: .*;\\n`, 'm'), '')
      .replace(new RegExp(`^ {4}${variable} = ${parameter};\\n`, 'm'), '');
    const name = freeName(result, builtin);
    result = result.replace(everywhere(`(?<!@builtin\\()${parameter}`), name).replace(everywhere(variable), name);
    result = passedOn(result, name, type);
  }
  return result;
}

/** Makes `name`, a parameter of main, one of all functions that use it or call one that does. */
function passedOn(text, name, type) {
  const functions = functionsOf(text);
  const users = new Set();
  // naga writes a function behind those that it calls.
  for (const [f, body] of functions)
    if (identifier(name).test(body) || [...users].some((u) => identifier(u).test(body))) users.add(f);
  users.delete('main');
  let result = text;
  for (const user of users)
    result = result.replace(new RegExp(`(\\bfn )?\\b${user}\\((\\)?)`, 'g'), (_, fn, empty) =>
      `${fn ?? ''}${user}(${fn ? `${name}: ${type}` : name}${empty ? ')' : ', '}`);
  return result;
}

/** Storage buffers that are only read as such, so that two bindings may be one buffer. */
export function withReadOnlyBuffers(text) {
  return text.replace(/^var<storage, read_write> (\w+): /gm, (declaration, name) => {
    const written = new RegExp(`^\\s*${name}\\..* = |atomic\\w+\\(\\(?&${name}\\b`, 'm').test(text);
    return written ? declaration : `var<storage> ${name}: `;
  });
}

/** Packed dot products, which GLSL has no word for (templates/common/product.glsl). */
export function withPackedDots(text) {
  const built_in = { dot_of_four_signed: 'dot4I8Packed', dot_of_four_unsigned: 'i32(dot4U8Packed' };
  return text.replace(
    /^(fn (dot_of_four_\w+)\((\w+): .*?, (\w+): .*?\) -> i32 \{\n)[^]*?^}\n/gm,
    (_, head, name, x, y) => {
      const call = built_in[name];
      const close = call.includes('(') ? '))' : ')';
      return `${head}    return ${call}(bitcast<u32>((*${x})), bitcast<u32>((*${y}))${close};\n}\n`;
    });
}

/** Subgroup operations need a line that asks for them. Workgroups that use them are one subgroup. */
export function withSubgroups(text) {
  if (!/\bsubgroup\w*\(|@builtin\(subgroup_/.test(text)) return text;
  const lines = ['enable subgroups;', 'diagnostic(off, subgroup_uniformity);', ''];
  return lines.join('\n') + text;
}

/** All of these. */
export function adapt(text) {
  return [withPlainNames, withBuiltinParameters, withReadOnlyBuffers, withPackedDots, withSubgroups]
    .reduce((adapted, change) => change(adapted), text);
}
