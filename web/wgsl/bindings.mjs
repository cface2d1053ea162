// The bindings of a kernel in WGSL.

const kinds = { 'storage': 'read-only-storage', 'storage, read_write': 'storage', 'uniform': 'uniform' };

/** Entries of the layout of bind group 0 for a text of translate.mjs. `visibility` is GPUShaderStage.COMPUTE. */
export function layoutEntries(wgsl, visibility) {
  const declarations = wgsl.matchAll(/^@group\(0\) @binding\((\d+)\)\s+var<([\w, ]+)>/gm);
  return [...declarations].map(([, binding, space]) =>
    ({ binding: Number(binding), visibility, buffer: { type: kinds[space] } }));
}

/** Features of the device that the text asks for. */
export function featuresOf(wgsl) {
  const names = { f16: 'shader-f16', subgroups: 'subgroups' };
  return [...wgsl.matchAll(/^enable (\w+);/gm)].map(([, extension]) => names[extension]);
}
