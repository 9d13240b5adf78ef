"""Native programs: traced instructions lowered to loops over memory, fused, and compiled by LLVM."""
