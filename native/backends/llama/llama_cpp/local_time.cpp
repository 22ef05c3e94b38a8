// A thread-safe localtime(). llama.cpp calls it on several threads for each prompt that it renders; the C
// library's localtime() returns shared memory. Not exported from the module.
#include <ctime>

extern "C" tm* localtime(const time_t* time) noexcept {
    thread_local tm local; // trivially destructible
    return localtime_r(time, &local);
}
