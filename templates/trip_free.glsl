// A trip of a loop that waits for nobody.
void begin_trip(uint t) {}
float left_by_trips() { return 0; }
