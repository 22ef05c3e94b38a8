// Included before ggml-backend.cpp, which then allocates through ggml_memory.cpp.
#pragma once

// Includes C++ headers first, so that their uses of malloc() are not renamed.
#include <algorithm>
#include <cstdlib>
#include <locale>
#include <memory>
#include <stdlib.h>
#include <string>
#include <unordered_map>
#include <vector>

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
