#include "platform/cpu.hpp"

namespace sotto {

int x86_64_level() noexcept {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") &&
          __builtin_cpu_supports("popcnt"))) {
        return 1;
    }
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
          __builtin_cpu_supports("fma"))) {
        return 2;
    }
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl"))) {
        return 3;
    }
    return 4;
#else
    return 0;
#endif
}

} // namespace sotto
