  // No epilogue, and no push constants for one.
