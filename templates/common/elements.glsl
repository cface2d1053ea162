//: ELEMENT is the type of operand elements in registers and of sums, ELEMENT_2 and ELEMENT_4 are
//: its vectors: float32; float64 for float64 operands; float16, where the caller allows half-precision sums; int32, exact; or
//: uint32 for unsigned operands of matrix units, whose bits are those of int32, since sums stay
//: below 2^31.
#if SUM_TYPE == F16
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
#endif
