// How many columns of a quantised B an invocation holds at a time: all that it multiplies, or one in a
// loop over them, which keeps the text of many columns short.
#ifndef LOOP_OVER_COLUMNS
#define LOOP_OVER_COLUMNS 0
#endif
const uint HELD_COLUMNS = LOOP_OVER_COLUMNS == 1 ? 1 : REG_N;
