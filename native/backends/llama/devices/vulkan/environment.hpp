// Included first when compiling ggml's Vulkan backend and its registry: redirects their getenv() calls to
// loader.cpp.
#pragma once

#include <cstdlib> // before getenv is redefined

extern "C" char* sotto_getenv(const char* name);

namespace std {
using ::sotto_getenv;
}

#define getenv sotto_getenv
