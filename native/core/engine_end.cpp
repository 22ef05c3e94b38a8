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

// Returns true if the engine's threads may outlive the engine's end: with its hooks disabled, the engine
// uses nothing that the host owns (host backend, shared GPU, custom clock), and writes no recording.
bool Engine::may_be_left() const noexcept {
    return clock_ == &system_clock() && !devices_.modules.has_hosts() && devices_.manager.shared() == 0 &&
           !telemetry_.recorder.is_on();
}

// On Linux, a thread of the idle class or of lower priority cannot return to the normal class, so its end
// may be delayed until no other thread wants its core. The destructor runs on a separate thread, which is
// detached if it waits for such a thread too long: the engine's memory is then freed later.
void Engine::end(std::unique_ptr<Engine> engine) noexcept {
    constexpr std::int64_t kPatience = 60'000'000;
    if (!engine->may_be_left()) {
        return; // the destructor runs here, and waits for all threads
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
