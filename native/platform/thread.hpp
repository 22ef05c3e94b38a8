// Thread names, scheduling classes and core affinity.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace sotto {

enum class ThreadClass : std::int32_t { normal = 0, idle = 1 };

// Starts a thread. Throws Error(SOTTO_ERROR_MEMORY) if the system refuses another thread.
template <typename Body>
std::thread start_thread(Body&& body) {
    try {
        return std::thread(std::forward<Body>(body));
    } catch (const std::system_error& error) {
        throw Error(
            SOTTO_ERROR_MEMORY,
            "no thread could be started: " + error.code().message() +
                "; end other threads, or raise the limit on threads of this user or container"
        );
    }
}

// Names the calling thread for debuggers; truncates long names.
void set_thread_name(const std::string& name) noexcept;

// Sets the scheduling class of the calling thread and of threads that it starts later. Returns false if the
// system refuses. Leaving the idle class needs privileges.
bool set_thread_class(ThreadClass thread_class) noexcept;

// System-wide id of the calling thread, for raise_thread_class().
std::uint64_t thread_number() noexcept;

// Moves a running thread of this process from the idle class to the normal one. Returns false if the system
// refuses: Linux requires CAP_SYS_NICE, or an RLIMIT_NICE of 20.
bool raise_thread_class(std::uint64_t number) noexcept;

// Makes the calling thread yield to threads of the normal class without starving beside them, unlike the idle
// class. Returns false if the system refuses. Reverting needs privileges.
bool lower_thread_priority() noexcept;

// A set of cores. Core i is bit i % 64 of word i / 64; on Windows, each word is a processor group.
class CoreSet {
public:
    static constexpr unsigned kMax = 1024;

    bool has(unsigned core) const noexcept { return (words[core / 64] >> (core % 64) & 1) != 0; }
    void add(unsigned core) noexcept { words[core / 64] |= std::uint64_t{1} << (core % 64); }
    bool empty() const noexcept { return words == Words{}; }

    using Words = std::array<std::uint64_t, kMax / 64>;
    Words words{};
};

// Restricts the calling thread, and threads that it starts later, to `cores`. An empty set changes nothing.
// Returns false if the system refuses.
bool set_thread_affinity(const CoreSet& cores) noexcept;

// Returns the cores that the calling thread may run on.
CoreSet thread_affinity() noexcept;

// Returns the number of cores that this process may use, at least 1.
unsigned usable_cores() noexcept;

} // namespace sotto
