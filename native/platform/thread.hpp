// Threads, as far as the standard library does not reach: their names, classes and cores.
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

// Starts a thread. Throws Error(SOTTO_ERROR_MEMORY) where the system has none left for this process.
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

// Names the calling thread for debuggers; long names are cut.
void set_thread_name(const std::string& name) noexcept;

// Puts the calling thread, and threads it will start, into a class. False if the system would not.
// Without privileges there is no way back from idle.
bool set_thread_class(ThreadClass thread_class) noexcept;

// The calling thread's number in the system, for raise_thread_class().
std::uint64_t thread_number() noexcept;

// Puts a thread of this process, which still runs, from the idle class into the normal one. False if the
// system would not: Linux asks for CAP_SYS_NICE, or an RLIMIT_NICE of 20.
bool raise_thread_class(std::uint64_t number) noexcept;

// Has the calling thread yield to those of the normal class, but not starve beside them as in the idle class.
// False if the system would not. Without privileges there is no way back.
bool lower_thread_priority() noexcept;

// A set of cores. Core i is bit i % 64 of word i / 64; on Windows, a word is a processor group.
class CoreSet {
public:
    static constexpr unsigned kMax = 1024;

    bool has(unsigned core) const noexcept { return (words[core / 64] >> (core % 64) & 1) != 0; }
    void add(unsigned core) noexcept { words[core / 64] |= std::uint64_t{1} << (core % 64); }
    bool empty() const noexcept { return words == Words{}; }

    using Words = std::array<std::uint64_t, kMax / 64>;
    Words words{};
};

// Keeps the calling thread, and threads it will start, to these cores. An empty set leaves it.
bool set_thread_affinity(const CoreSet& cores) noexcept;

// The cores that the calling thread may run on.
CoreSet thread_affinity() noexcept;

// How many cores this process may use, at least 1.
unsigned usable_cores() noexcept;

} // namespace sotto
