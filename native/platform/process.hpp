// Support for fork(): a child has only the thread that called fork(), and locks keep the state that they had.
#pragma once

#include <atomic>

namespace sotto {

// Number of forks between the process that loaded this library and the calling process. Always 0 on systems
// without fork().
unsigned process_generation() noexcept;

// Makes fork() in other threads wait while this object lives, for at most one second.
class NoFork {
public:
    NoFork() noexcept;
    ~NoFork();
    NoFork(const NoFork&) = delete;
    NoFork& operator=(const NoFork&) = delete;
};

// A lazily created object for each process. A child after fork() creates an object of its own and does not
// use the parent's, whose locks may be held by threads that the child does not have. Never destroyed.
template <typename T>
class PerProcess {
public:
    constexpr PerProcess() noexcept = default;
    PerProcess(const PerProcess&) = delete;
    PerProcess& operator=(const PerProcess&) = delete;

    // Creates the object on first use. Throws whatever its constructor throws; the next call then tries
    // again.
    T& get() {
        const auto generation = process_generation();
        Made* made = made_.load(std::memory_order_acquire);
        while (made == nullptr || made->generation != generation) {
            auto* mine = new Made{generation, {}, made};
            if (made_.compare_exchange_strong(made, mine, std::memory_order_acq_rel)) {
                return mine->object;
            }
            delete mine; // another thread created the object first
        }
        return made->object;
    }

    // Returns null if this process has not created the object.
    T* made() const noexcept {
        Made* made = made_.load(std::memory_order_acquire);
        return made != nullptr && made->generation == process_generation() ? &made->object : nullptr;
    }

private:
    struct Made {
        unsigned generation;
        T object;
        Made* of_parent; // keeps the parent's object reachable for leak checkers
    };

    std::atomic<Made*> made_{nullptr};
};

} // namespace sotto
