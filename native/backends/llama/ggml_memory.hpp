// Read before ggml-backend.cpp, which then takes its memory from ggml_memory.cpp.
#pragma once

#include <cstdlib>
#include <stdlib.h> // both take the names back

extern "C" {
void* sotto_malloc(std::size_t size);
void* sotto_calloc(std::size_t count, std::size_t size);
void* sotto_realloc(void* memory, std::size_t size);
void sotto_free(void* memory);
}

#define ggml_aligned_malloc sotto_aligned_malloc
#define ggml_aligned_free sotto_aligned_free
#define malloc sotto_malloc
#define calloc sotto_calloc
#define realloc sotto_realloc
#define free sotto_free
