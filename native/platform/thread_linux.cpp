#include "platform/thread.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include "platform/cgroup.hpp"
#include "platform/clock.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sotto {
namespace {

// Converts the CPU quota of the process's control group to whole cores, rounded down, at least 1.
unsigned quota_under(const std::string& root) {
    return static_cast<unsigned>(std::clamp(cgroup_cores(root).value_or(UINT16_MAX), 1.0, 65535.0));
}

// CPU quota of the process's control group, in cores. Cached for one second: the quota may change, and
// reading it takes 0.3 ms.
unsigned quota() noexcept {
    constexpr std::int64_t kOld = 1'000'000'000;
    static std::atomic<unsigned> known{UINT16_MAX};
    static std::atomic<std::int64_t> read_again{0};
    const auto now = system_clock().now();
    if (auto due = read_again.load(); now >= due && read_again.compare_exchange_strong(due, now + kOld)) {
        try {
            known = quota_under({});
        } catch (const std::bad_alloc&) {
            read_again = now;
        }
    }
    return known.load();
}

unsigned cores_of_affinity() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    return static_cast<unsigned>(std::max(CPU_COUNT(&set), 1));
}

} // namespace

void set_thread_name(const std::string& name) noexcept {
    constexpr std::size_t kLongest = 15; // limit of the kernel
    char cut[kLongest + 1] = {};
    name.copy(cut, kLongest);
    pthread_setname_np(pthread_self(), cut);
}

bool set_thread_class(ThreadClass thread_class) noexcept {
    const sched_param none{};
    const int policy = thread_class == ThreadClass::idle ? SCHED_IDLE : SCHED_OTHER;
    return pthread_setschedparam(pthread_self(), policy, &none) == 0;
}

std::uint64_t thread_number() noexcept {
    return static_cast<std::uint64_t>(syscall(SYS_gettid)); // glibc has gettid() only since 2.30
}

bool raise_thread_class(std::uint64_t number) noexcept {
    const sched_param none{};
    // with a thread's id, Linux changes only that thread
    return sched_setscheduler(static_cast<pid_t>(number), SCHED_OTHER, &none) == 0;
}

bool lower_thread_priority() noexcept {
    constexpr int kNice = 10;                        // leaves about a tenth of a core beside a busy thread
    return setpriority(PRIO_PROCESS, 0, kNice) == 0; // on Linux each thread has its own nice value
}

bool set_thread_affinity(const CoreSet& cores) noexcept {
    static_assert(CoreSet::kMax <= CPU_SETSIZE);
    if (cores.empty()) {
        return true;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned core = 0; core < CoreSet::kMax; ++core) {
        if (cores.has(core)) {
            CPU_SET(core, &set);
        }
    }
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

CoreSet thread_affinity() noexcept {
    CoreSet cores;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (unsigned core = 0; core < CoreSet::kMax; ++core) {
            if (CPU_ISSET(core, &set)) {
                cores.add(core);
            }
        }
    }
    return cores;
}

// Respects a container's CPU quota, rounded down: threads beyond the quota cause the whole process, including
// the game, to be throttled for the rest of each period.
unsigned usable_cores() noexcept {
    return std::min(cores_of_affinity(), quota());
}

unsigned usable_cores_under(const std::string& root) {
    return std::min(cores_of_affinity(), quota_under(root));
}

} // namespace sotto
