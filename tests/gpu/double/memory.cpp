// Memory of the double's own: a test's may run out, and a driver's does not with it.
#include <cstdlib>
#include <new>

void* operator new(std::size_t size) {
    if (void* made = std::malloc(size != 0 ? size : 1)) {
        return made;
    }
    throw std::bad_alloc();
}

// Not inlined, so that no compiler sees free() beside new.
[[gnu::noinline]] void operator delete(void* pointer) noexcept {
    std::free(pointer);
}

[[gnu::noinline]] void operator delete(void* pointer, std::size_t) noexcept {
    std::free(pointer);
}
