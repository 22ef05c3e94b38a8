// Implementations of stb_image and miniaudio; Mtmd.cmake configures their headers.
#include <cstddef>
#include <cstdlib>

namespace {

// Limits the decompressed size: a small file may claim to decompress to gigabytes.
constexpr std::size_t kMostBytes = std::size_t{1} << 29;

void* bounded_malloc(std::size_t size) {
    return size > kMostBytes ? nullptr : std::malloc(size);
}

void* bounded_realloc(void* old, std::size_t size) {
    return size > kMostBytes ? nullptr : std::realloc(old, size);
}

} // namespace

#define STBI_MALLOC bounded_malloc
#define STBI_REALLOC bounded_realloc
#define STBI_FREE std::free
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>

#define MINIAUDIO_IMPLEMENTATION
#include <miniaudio/miniaudio.h>
