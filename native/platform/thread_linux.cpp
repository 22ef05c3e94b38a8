#include "platform/thread.hpp"

#include <pthread.h>
#include <sched.h>

namespace sotto {

void set_thread_name(const std::string& name) noexcept {
    constexpr std::size_t kLongest = 15; // the kernel's limit
    char cut[kLongest + 1] = {};
    name.copy(cut, kLongest);
    pthread_setname_np(pthread_self(), cut);
}

bool set_thread_class(ThreadClass thread_class) noexcept {
    const sched_param none{};
    const int policy = thread_class == ThreadClass::idle ? SCHED_IDLE : SCHED_OTHER;
    return pthread_setschedparam(pthread_self(), policy, &none) == 0;
}

bool set_thread_affinity(std::uint64_t cores) noexcept {
    if (cores == 0) {
        return true;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int core = 0; core < 64; ++core) {
        if ((cores >> core & 1) != 0) {
            CPU_SET(core, &set);
        }
    }
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

unsigned usable_cores() noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    const int count = CPU_COUNT(&set);
    return count > 0 ? static_cast<unsigned>(count) : 1;
}

} // namespace sotto
