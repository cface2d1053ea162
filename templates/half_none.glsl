// All operands are float32: nothing to widen.
