// Fills buffers of llama.cpp with zeros.
#pragma once

namespace sotto::llama {

// True if pages of a cleared buffer that are never written take no memory.
#if defined(__linux__) && !defined(__ANDROID__)
constexpr bool kClearsLazily = true;
#else
constexpr bool kClearsLazily = false;
#endif

} // namespace sotto::llama
