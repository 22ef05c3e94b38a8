// localtime() for llama.cpp, which calls it for each prompt that it renders, on several threads at once. The
// module is linked with --wrap: the C library's own returns the same memory to all threads.
#include <ctime>

extern "C" tm* __wrap_localtime(const time_t* time) noexcept; // the linker's name for it

tm* __wrap_localtime(const time_t* time) noexcept {
    thread_local tm local; // a type without a destructor
    return localtime_r(time, &local);
}
