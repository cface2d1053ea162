//: Exponentials of differences to a row's largest value. Vulkan promises neither that exp keeps NaN
//: and infinity nor that comparisons see them, so they are told by their bits.

#define NOT_A_NUMBER uintBitsToFloat(0x7fc00000u)

bool is_finite(float x) { return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u; }

/// exp(x) of an x that is at most 0; 0 for -infinity.
float exp_below(float x) { return is_finite(x) ? exp(x) : 0.0; }
