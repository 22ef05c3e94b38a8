#include "platform/pages.hpp"

#include <algorithm>
#include <cstring>

#include "platform/windows.hpp"

namespace sotto::page_system {

void* map(std::size_t size) noexcept {
    return VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void* remap(void* memory, std::size_t old_size, std::size_t size) noexcept {
    void* now = map(size);
    if (now != nullptr) {
        std::memcpy(now, memory, std::min(old_size, size));
        unmap(memory, old_size);
    }
    return now;
}

void unmap(void* memory, std::size_t) noexcept {
    VirtualFree(memory, 0, MEM_RELEASE);
}

void prefer_large(void*, std::size_t) noexcept {} // needs a privilege

} // namespace sotto::page_system
