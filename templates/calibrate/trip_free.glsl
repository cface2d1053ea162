// Iterations begin without a barrier.
void begin_trip(uint t) {}
float trip_residue() { return 0; }
