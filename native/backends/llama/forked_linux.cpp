#include "forked.hpp"

#include "guard.hpp"
#include "process_end.hpp"

#include <mutex>
#include <new>
#include <pthread.h>

// ggml's own, in ggml-threading.cpp: held while tables that the process has once are made, which a child then
// makes anew.
extern std::mutex ggml_critical_section_mutex;

namespace sotto::llama {
namespace {

bool forked = false;

// In the child, which has one thread yet.
void on_fork() {
    forked = true;
    new (&ggml_critical_section_mutex) std::mutex;
    forget_computing_calls();
    forget_who_is_inside();
}

} // namespace

void survive_forks() {
    if (pthread_atfork(nullptr, nullptr, on_fork) != 0) {
        throw std::bad_alloc(); // all that it fails for
    }
}

bool was_forked() noexcept {
    return forked;
}

} // namespace sotto::llama
