//: The status word of shaders that take numbers of rows from the device: 1 if one is outside of x
//: and not -1, which names no row; 0 otherwise. One workgroup looks at all of them.

#define NO_ROW 0xffffffffu

shared bool found_outside[LOCAL_SIZE];

bool is_outside(uint row) { return row >= rows_x && row != NO_ROW; }

/// The same for the whole workgroup, as barriers need.
bool reports_status() { return has_status == 1 && gl_WorkGroupID == uvec3(0); }

/// Takes what each invocation has found.
void report_status(bool outside) {
  found_outside[gl_LocalInvocationIndex] = outside;
  barrier();
  if (gl_LocalInvocationIndex != 0) return;
  for (uint i = 1; i < LOCAL_SIZE; ++i) outside = outside || found_outside[i];
  status[base_status] = outside ? 1 : 0;
}
