// Calls into the module, which may come while the process is exiting.
#pragma once

#include "runtime/fence.hpp"
#include "runtime/process_end.hpp"

#include <deque>
#include <memory>
#include <mutex>

namespace sotto::llama {

inline constexpr const char* kExiting = "the process is exiting: its models are stopped";

// Returns the calling thread's buffer for the failure reason of calls without a model.
FixedText& thread_why();

// Throws Error(SOTTO_ERROR_UNSUPPORTED) if this CPU lacks an instruction set of the tier. Call it before any
// code that may use one.
void require_isa();

template <typename T>
void check_size(const T& theirs) {
    if (theirs.struct_size < sizeof theirs) {
        throw invalid_argument(
            "struct_size", std::to_string(theirs.struct_size), "at least " + std::to_string(sizeof theirs)
        );
    }
}

// Runs `body` and converts exceptions to statuses, or fails if the process is exiting. Registers the exit
// handler after the first call of each kind, so that ggml's static variables that the call created are
// destroyed only after all calls have ended.
template <typename Kept, typename Body>
sotto_status living(Kept& kept, sotto_str* why, Body&& body) noexcept {
    const Inside inside;
    if (!inside) {
        return fail(SOTTO_ERROR_STATE, kExiting, kept, why);
    }
    const auto status = guarded(kept, why, body);
    static const bool told = (end_with_process(), true);
    (void)told;
    return status;
}

// Frees `object`. If the process is exiting, leaks `object`, because its destructor may need static variables
// that are already destroyed.
template <typename T>
void free_unless_it_ends(T* object) {
    const Inside inside;
    std::unique_ptr<T> owned(object);
    if (!inside) {
        static auto& mutex = *new std::mutex; // guards kept
        static auto& kept = *new std::deque<std::unique_ptr<T>>;
        const std::lock_guard lock(mutex);
        kept.push_back(std::move(owned));
    }
}

} // namespace sotto::llama
