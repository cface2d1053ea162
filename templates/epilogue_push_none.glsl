  // nothing is fused
