// How the invocations of a workgroup share the loads of a tile: consecutive invocations take
// consecutive loads, then each takes the next LOCAL_SIZE loads.

// Load l of this invocation, counted as (row, position in the row) of rows with a number of loads.
// Where rows divide LOCAL_SIZE, the loads of an invocation differ by constants. Without a load left,
// an invocation repeats the last one.
uvec2 load_position(uint l, uint loads, uint loads_in_row) {
  const uint i = gl_LocalInvocationIndex;
  if (loads % LOCAL_SIZE == 0 && LOCAL_SIZE % loads_in_row == 0)
    return uvec2(i / loads_in_row + l * (LOCAL_SIZE / loads_in_row), i % loads_in_row);
  const uint load = loads % LOCAL_SIZE == 0 ? i + l * LOCAL_SIZE : min(i + l * LOCAL_SIZE, loads - 1);
  return uvec2(load / loads_in_row, load % loads_in_row);
}

// The same for a tile along k, whose rows are stored in another order with store_map=permuted:
// `together` rows, which one access to shared memory stores, lie `step` rows apart.
uvec2 row_position(uint l, uint loads, uint loads_in_row, uint together, uint step) {
  const uvec2 at = load_position(l, loads, loads_in_row);
  const uint i = at.x % (together * step);
  return uvec2(at.x - i + i % together * step + i / together, at.y);
}

bool has_load(uint l, uint loads) {
  return loads % LOCAL_SIZE == 0 || gl_LocalInvocationIndex + l * LOCAL_SIZE < loads;
}
