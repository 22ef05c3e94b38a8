#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace SottoCore
{

/** Runs functions one after the other, in the order in which they were added, on threads of the host. */
class FWorkQueue
{
public:
    using FWork = std::function<void()>;

    /** `Launch` runs a function on another thread, at once or later, and exactly once. */
    explicit FWorkQueue(std::function<void(FWork)> Launch);

    /** Adds a function. Any thread; never waits. */
    void Add(FWork Work);

    /** Waits until all functions have run, at most `Most`. Returns true if they have. */
    bool WaitFor(std::chrono::milliseconds Most);

    /** Waits until all functions have run. */
    void Wait();

private:
    struct FState;

    static void Drain(const std::shared_ptr<FState>& State);

    std::shared_ptr<FState> State;
};

} // namespace SottoCore
