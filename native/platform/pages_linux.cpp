#include "platform/pages.hpp"

#include <sys/mman.h>

namespace sotto::page_system {

void* map(std::size_t size) noexcept {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

void* remap(void* memory, std::size_t old_size, std::size_t size) noexcept {
    void* now = mremap(memory, old_size, size, MREMAP_MAYMOVE);
    return now == MAP_FAILED ? nullptr : now;
}

void unmap(void* memory, std::size_t size) noexcept {
    munmap(memory, size);
}

void prefer_large(void* memory, std::size_t size) noexcept {
    (void)madvise(memory, size, MADV_HUGEPAGE);
}

} // namespace sotto::page_system
