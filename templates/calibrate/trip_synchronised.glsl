// Every iteration begins with a barrier, with a write to shared memory that keeps the compiler from
// removing it.
shared uint counters[LOCAL_SIZE];
void begin_trip(uint t) {
  barrier();
  counters[(gl_LocalInvocationIndex + t) % LOCAL_SIZE] += 1u;
}
float trip_residue() { return float(counters[gl_LocalInvocationIndex]); }
