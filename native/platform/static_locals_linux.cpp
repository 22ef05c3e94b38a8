// Function-local static variables in children of fork(): replaces the functions that compilers call around
// their initialisation (Itanium C++ ABI, 3.3.3). With the C++ library's functions, a variable that another
// thread was initialising at the time of fork() never becomes ready in the child, where every thread then
// waits for it. Also, because fork() copies memory while other threads write to it, a variable may be marked
// ready in the child although a part of it is missing. Loading the first model initialises dozens of such
// variables. Here fork() waits until no initialisation is in progress.
//
// The library and each module compile this file into themselves.
#include <array>
#include <atomic>
#include <ctime>
#include <exception>

#include <pthread.h>

namespace {

// Indices of bytes in the guard variable of a static variable. Compiled code reads byte kReady directly.
constexpr int kReady = 0;
constexpr int kBusy = 1;

constexpr std::size_t kMax = 64;     // maximum number of concurrent initialisations that fork() waits for
constexpr std::time_t kPatience = 1; // seconds; an initialising thread may get no CPU time

struct UnderWay {
    std::atomic<unsigned char*> guard{nullptr}; // nullptr: the entry is free
    pthread_t thread{};
};

// Guards the variables below and the kBusy bytes of all guard variables
pthread_mutex_t g_mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_cond_t g_changed = PTHREAD_COND_INITIALIZER;
std::array<UnderWay, kMax> g_under_way;

// Returns the table entry of `guard`, or a free entry if `guard` is null. Returns nullptr if there is no such
// entry.
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
    clock_gettime(CLOCK_REALTIME, &until); // pthread_cond_timedwait() uses this clock
    until.tv_sec += kPatience;
    pthread_mutex_lock(&g_mutex);
    while (others_are_at_it() && pthread_cond_timedwait(&g_changed, &g_mutex, &until) == 0) {
    }
}

void after_in_parent() {
    pthread_mutex_unlock(&g_mutex);
}

// The child has one thread: it continues the initialisations that this thread had begun, and repeats the
// initialisations that other threads of the parent had begun.
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

// Returns true if the caller must initialise the variable.
int __cxa_guard_acquire(unsigned char* guard) {
    pthread_mutex_lock(&g_mutex);
    while (guard[kBusy] != 0) {
        const auto* place = find(guard);
        if (place != nullptr && pthread_equal(place->thread, pthread_self()) != 0) {
            std::terminate(); // recursive initialisation
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

// Called when the initialisation threw.
void __cxa_guard_abort(unsigned char* guard) noexcept {
    end(guard, false);
}
}
