// No conversion: operands are not 16-bit floats.
