// A buffer for a saved KV cache, in pages mapped from the operating system.
#include "kv/pages.hpp"

#include <algorithm>
#include <new>

#ifdef _WIN32
#  define WIN32_LEAN_AND_MEAN
#  include <windows.h>
#else
#  include <sys/mman.h>
#endif

namespace sotto::llama {
namespace {

void* map(std::size_t size) noexcept {
#ifdef _WIN32
    return VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
#else
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
#endif
}

} // namespace

Pages::Pages(std::size_t size)
    : size_(size), data_(static_cast<std::uint8_t*>(map(std::max<std::size_t>(size, 1)))) {
    if (data_ == nullptr) {
        throw std::bad_alloc();
    }
}

Pages::~Pages() {
#ifdef _WIN32
    VirtualFree(data_, 0, MEM_RELEASE);
#else
    munmap(data_, std::max<std::size_t>(size_, 1));
#endif
}

} // namespace sotto::llama
