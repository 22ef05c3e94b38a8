// Compiled into ggml's Vulkan backend and the registry that knows of it, before all else: what they ask of
// the environment, the module answers (loader.cpp).
#pragma once

#include <cstdlib> // before the name is another's

extern "C" char* sotto_getenv(const char* name);

namespace std {
using ::sotto_getenv;
}

#define getenv sotto_getenv
