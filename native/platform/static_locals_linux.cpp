// Static variables of functions, in children of fork(): what a compiler calls around their initialisation, in
// place of the C++ library's (Itanium C++ ABI, 3.3.3). There a variable that another thread was initialising
// at the fork is never ready in the child, whose every thread waits for it; and as memory is copied while
// other threads write to it, one may be ready there of which a part is missing. A first model that is being
// loaded initialises dozens. Here fork() waits until none is under way.
//
// The library and each module compile this for themselves.
#include <array>
#include <atomic>
#include <ctime>
#include <exception>

#include <pthread.h>

namespace {

// Bytes of a guard. The compiler looks at the first one itself.
constexpr int kReady = 0;
constexpr int kBusy = 1;

constexpr std::size_t kMost = 64;    // under way at once that fork() waits for
constexpr std::time_t kPatience = 1; // seconds; a thread that nobody lets run may be in the middle of one

struct UnderWay {
    std::atomic<unsigned char*> guard{nullptr}; // nullptr: the place is free
    pthread_t thread{};
};

pthread_mutex_t g_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; // guards what follows, and all busy bytes
pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
std::array<UnderWay, kMost> g_under_way;

// The one of `guard`; with nullptr a free one. nullptr: there is none.
UnderWay* find(const unsigned char* guard) noexcept {
    for (auto& one : g_under_way) {
        if (one.guard.load(std::memory_order_relaxed) == guard) {
            return &one;
        }
    }
    return nullptr;
}

void begin(unsigned char* guard) noexcept {
    if (auto* place = find(nullptr); place != nullptr) {
        place->thread = pthread_self();
        place->guard.store(guard, std::memory_order_release);
    }
    guard[kBusy] = 1;
}

void end(unsigned char* guard, bool ready) noexcept {
    pthread_mutex_lock(&g_mutex);
    if (ready) {
        __atomic_store_n(&guard[kReady], 1, __ATOMIC_RELEASE);
    }
    guard[kBusy] = 0;
    if (auto* place = find(guard); place != nullptr) {
        place->guard.store(nullptr, std::memory_order_relaxed);
    }
    pthread_mutex_unlock(&g_mutex);
    pthread_cond_broadcast(&g_changed);
}

bool others_are_at_it() noexcept {
    for (const auto& one : g_under_way) {
        if (one.guard.load(std::memory_order_relaxed) != nullptr &&
            pthread_equal(one.thread, pthread_self()) == 0) {
            return true;
        }
    }
    return false;
}

void before_fork() {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until); // as pthread_cond_timedwait() wants it
    until.tv_sec += kPatience;
    pthread_mutex_lock(&g_mutex);
    while (others_are_at_it() && pthread_cond_timedwait(&g_changed, &g_mutex, &until) == 0) {
    }
}

void after_in_parent() {
    pthread_mutex_unlock(&g_mutex);
}

// The child has one thread: what that was initialising itself, it goes on with, and all else it does anew.
void after_in_child() {
    g_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    g_changed = PTHREAD_COND_INITIALIZER;
    for (auto& one : g_under_way) {
        auto* guard = one.guard.load(std::memory_order_acquire);
        if (guard != nullptr && pthread_equal(one.thread, pthread_self()) == 0) {
            guard[kBusy] = 0;
            one.guard.store(nullptr, std::memory_order_relaxed);
        }
    }
}

[[maybe_unused]] const int g_registered = pthread_atfork(before_fork, after_in_parent, after_in_child);

} // namespace

extern "C" {

// Returns whether the caller is to initialise the variable.
int __cxa_guard_acquire(unsigned char* guard) {
    pthread_mutex_lock(&g_mutex);
    while (guard[kBusy] != 0) {
        const auto* place = find(guard);
        if (place != nullptr && pthread_equal(place->thread, pthread_self()) != 0) {
            std::terminate(); // its initialisation needs the variable itself
        }
        pthread_cond_wait(&g_changed, &g_mutex);
    }
    const bool ready = __atomic_load_n(&guard[kReady], __ATOMIC_ACQUIRE) != 0;
    if (!ready) {
        begin(guard);
    }
    pthread_mutex_unlock(&g_mutex);
    return ready ? 0 : 1;
}

void __cxa_guard_release(unsigned char* guard) noexcept {
    end(guard, true);
}

// The initialisation threw.
void __cxa_guard_abort(unsigned char* guard) noexcept {
    end(guard, false);
}
}
