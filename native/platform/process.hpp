// A process that forks: of its threads a child has the one that called fork(), and locks stay as they were.
#pragma once

#include <atomic>

namespace sotto {

// How many forks lie between the process that loaded this library and the calling one. Always 0 where the
// system cannot fork.
unsigned process_generation() noexcept;

// While one lives, fork() waits in other threads, for a second at most.
class NoFork {
public:
    NoFork() noexcept;
    ~NoFork();
    NoFork(const NoFork&) = delete;
    NoFork& operator=(const NoFork&) = delete;
};

// An object that each process makes for itself when it first asks. That of the parent process is left as it
// is: its locks may be held by threads that a child does not have. Never destroyed.
template <typename T>
class PerProcess {
public:
    constexpr PerProcess() noexcept = default;
    PerProcess(const PerProcess&) = delete;
    PerProcess& operator=(const PerProcess&) = delete;

    // Throws what making it throws, and makes it anew next time.
    T& get() {
        const auto generation = process_generation();
        Made* made = made_.load(std::memory_order_acquire);
        while (made == nullptr || made->generation != generation) {
            auto* mine = new Made{generation, {}, made};
            if (made_.compare_exchange_strong(made, mine, std::memory_order_acq_rel)) {
                return mine->object;
            }
            delete mine; // another thread was first
        }
        return made->object;
    }

    // Null where this process has not asked for it.
    T* made() const noexcept {
        Made* made = made_.load(std::memory_order_acquire);
        return made != nullptr && made->generation == process_generation() ? &made->object : nullptr;
    }

private:
    struct Made {
        unsigned generation;
        T object;
        Made* of_parent; // so that a leak checker finds it
    };

    std::atomic<Made*> made_{nullptr};
};

} // namespace sotto
