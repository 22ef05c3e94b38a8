// How an engine ends without waiting for threads that a busy machine keeps from running.
#include "base/attempt.hpp"
#include "core/engine.hpp"
#include "platform/dynlib.hpp"

namespace sotto {
namespace {

// Shared by who destroys an engine and the thread that does it.
struct Ending {
    Signal done;
    std::atomic<bool> over{false};
};

// False: it is not over after so many nanoseconds.
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

// Whether nothing of the host's is used once no hook may be called: no backend, card, clock or recording.
bool Engine::may_be_left() const noexcept {
    return clock_ == &system_clock() && !modules_.has_hosts() && card_.shared() == 0 && !recorder_.is_on();
}

// Threads of the idle class or of a lower priority can't be raised to the normal class (Linux), so a wait for
// one would last until no other thread wants the core. They are left behind instead, with what they use, and
// free it when they run.
void Engine::end(std::unique_ptr<Engine> engine) noexcept {
    constexpr std::int64_t kPatience = 60'000'000;
    if (!engine->may_be_left()) {
        return; // waits
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
    attempt(begin, [](sotto_status, const char*) {}); // waits where there is no thread to be had
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
