#include "platform/thread_pointer.hpp"

#include <climits>
#include <pthread.h>

namespace sotto {

const int ThreadPointer::kRounds = PTHREAD_DESTRUCTOR_ITERATIONS;

ThreadPointer::ThreadPointer(Destructor destructor) noexcept {
    pthread_key_t key = 0;
    usable_ = pthread_key_create(&key, destructor) == 0;
    key_ = static_cast<std::uint32_t>(key);
}

// Puts the library's thread-locals, among them those of the C++ library's exceptions, into static TLS: glibc
// terminates the process if memory for dynamic TLS runs out.
#if defined(__GLIBC__)
[[gnu::tls_model("initial-exec"), gnu::used]] thread_local char static_tls = 0;
#endif

void* ThreadPointer::get() const noexcept {
#if defined(__GLIBC__)
    asm volatile("" ::"r"(&static_tls));
#endif
    return usable_ ? pthread_getspecific(static_cast<pthread_key_t>(key_)) : nullptr;
}

bool ThreadPointer::set(void* value) noexcept {
    return usable_ && pthread_setspecific(static_cast<pthread_key_t>(key_), value) == 0;
}

} // namespace sotto
