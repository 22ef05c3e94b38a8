// localtime() for llama.cpp, which calls it for each prompt that it renders, on several threads at once: the
// C library's own returns the same memory to all threads. The module exports nothing of it.
#include <ctime>

extern "C" tm* localtime(const time_t* time) noexcept {
    thread_local tm local; // a type without a destructor
    return localtime_r(time, &local);
}
