// Build information of llama-quantize, which llama.cpp's own build generates.
#include <cstdio>

void llama_print_build_info(const char*, FILE*) {}
