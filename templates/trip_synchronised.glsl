// Every trip of the loop begins with a barrier, around a shared value that keeps it from being removed.
shared uint turns[LOCAL_SIZE];
void begin_trip(uint t) {
  barrier();
  turns[(gl_LocalInvocationIndex + t) % LOCAL_SIZE] += 1u;
}
float left_by_trips() { return float(turns[gl_LocalInvocationIndex]); }
