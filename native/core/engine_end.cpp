// Destroys engines without waiting for threads that get no core on a busy machine.
#include "base/attempt.hpp"
#include "core/engine.hpp"
#include "platform/dynlib.hpp"

namespace sotto {
namespace {

// Shared by the thread that ends an engine and the thread that runs its destructor.
struct Ending {
    Signal done;
    std::atomic<bool> over{false};
};

// Waits until the destructor has returned. Returns false after `most` nanoseconds.
bool wait_for(Ending& ending, std::int64_t most) noexcept {
    const auto deadline = system_clock().now() + most;
    for (;;) {
        const auto seen = ending.done.value();
        if (ending.over.load()) {
            return true;
        }
        if (system_clock().now() >= deadline) {
            return false;
        }
        system_clock().wait(ending.done, seen, deadline);
    }
}

} // namespace

// Returns true if the engine uses nothing that the host or its caller owns once hooks are disabled:
// no host backend, shared GPU, custom clock or recording.
bool Engine::may_be_left() const noexcept {
    return clock_ == &system_clock() && !devices_.modules.has_hosts() && devices_.manager.shared() == 0 &&
           !telemetry_.recorder.is_on();
}

// Threads of the idle class or with a lower priority cannot return to the normal class on Linux, so
// waiting for one would last until no other thread wants its core. Such threads are detached, with
// the memory they use, and free it when they run.
void Engine::end(std::unique_ptr<Engine> engine) noexcept {
    constexpr std::int64_t kPatience = 60'000'000;
    if (!engine->may_be_left()) {
        return; // destructor waits for all threads
    }
    const auto outlives = engine->hooks_.outlives;
    std::shared_ptr<Ending> ending;
    std::thread thread;
    const auto begin = [&] {
        ending = std::make_shared<Ending>();
        thread = std::thread([ending, engine = engine.get()] {
            delete engine;
            ending->over = true;
            ending->done.notify();
        });
        (void)engine.release();
    };
    attempt(begin, [](sotto_status, const char*) {}); // without a thread, the destructor runs here
    if (!thread.joinable()) {
        return;
    }
    while (!wait_for(*ending, kPatience)) {
        if (outlives->has_yielding_threads.load() && keep_loaded()) {
            outlives->gate.close();
            thread.detach();
            return;
        }
    }
    thread.join();
}

} // namespace sotto
