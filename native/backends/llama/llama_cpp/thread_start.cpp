#include "llama_cpp/thread_start.hpp"

#include "runtime/fence.hpp"

#ifndef _WIN32
#  include <pthread.h>
#endif

namespace sotto::llama {

void refuse_thread(const std::error_code& failed) {
    throw Error(
        SOTTO_ERROR_MEMORY,
        "no thread could be started: " + failed.message() +
            "; end other threads, or raise the limit on threads of this user or container"
    );
}

#ifndef _WIN32
// ggml-cpu.c calls this function instead of pthread_create(), whose success ggml-cpu.c asserts.
extern "C" int
sotto_create_thread(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* data) {
    if (const int failed = pthread_create(thread, attributes, run, data); failed != 0) {
        refuse_thread({failed, std::generic_category()});
    }
    return 0;
}
#endif

} // namespace sotto::llama
