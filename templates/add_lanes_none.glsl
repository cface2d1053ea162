void add_lanes() {}  // one lane of k has all of the sums
