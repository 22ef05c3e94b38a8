#include "faults.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <ctime>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* pointer, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace faults {
namespace {

constexpr long kRun = 100;
constexpr long kTime = 200'000'000; // ns

std::atomic<bool> armed{false};
std::atomic<long> calls{0};
std::atomic<long> first{0};
std::atomic<int> kind{0};
std::atomic<long> since{0}; // time of the first failure
std::atomic<long> threads{0};
std::atomic<long> failing_thread{0};
thread_local int exempt = 0;

long now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1'000'000'000L + time.tv_nsec;
}

bool fails() {
    if (!armed.load(std::memory_order_relaxed) || exempt > 0) {
        return false;
    }
    const long call = calls.fetch_add(1) + 1;
    const long from = first.load();
    if (call < from) {
        return false;
    }
    switch (static_cast<Fails>(kind.load())) {
    case Fails::once:
        return call == from;
    case Fails::run:
        return call < from + kRun;
    case Fails::for_200ms:
        break;
    }
    long none = 0;
    since.compare_exchange_strong(none, now());
    return now() - since.load() < kTime;
}

} // namespace

void arm(long at, Fails how) {
    calls = 0;
    since = 0;
    first = at;
    kind = static_cast<int>(how);
    armed = true;
}

void disarm() {
    armed = false;
    failing_thread = 0;
}

long count() {
    return calls;
}

void arm_threads(long at) {
    threads = 0;
    failing_thread = at;
}

long threads_count() {
    return threads;
}

Exempt::Exempt() {
    ++exempt;
}

Exempt::~Exempt() {
    --exempt;
}

} // namespace faults

#pragma GCC visibility push(default) // exported, so that libraries link to them
extern "C" {

void* malloc(std::size_t size) {
    if (faults::fails()) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) {
    if (faults::fails()) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_calloc(count, size);
}

void* realloc(void* pointer, std::size_t size) {
    if (size != 0 && faults::fails()) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_realloc(pointer, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) {
    if (faults::fails()) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_memalign(alignment, size);
}

int posix_memalign(void** made, std::size_t alignment, std::size_t size) {
    if (faults::fails()) {
        return ENOMEM;
    }
    *made = __libc_memalign(alignment, size);
    return *made != nullptr ? 0 : ENOMEM;
}

void* mmap(void* address, std::size_t size, int protection, int flags, int file, off_t offset) {
    using Map = void* (*)(void*, std::size_t, int, int, int, off_t);
    static const auto map = reinterpret_cast<Map>(dlsym(RTLD_NEXT, "mmap"));
    if ((flags & MAP_ANONYMOUS) != 0 && faults::fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return map(address, size, protection, flags, file, offset);
}

int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument
) {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    if (const long at = faults::failing_thread; at != 0 && faults::threads.fetch_add(1) + 1 == at) {
        return EAGAIN;
    }
    return create(thread, attributes, body, argument);
}
}
#pragma GCC visibility pop
