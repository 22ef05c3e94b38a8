// A thread that generates an image only while a step of the engine waits for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include <sotto/module.h>

namespace sotto::diffusion {

// stable-diffusion.cpp generates an image in one call, on a thread of its own here. That thread and the
// engine's compute thread take turns: the thread runs from advance() until it hands over, or until the step's
// gate ends the step, and stays where it was.
class Turns {
public:
    enum class End : std::uint8_t { handed_over, cancelled, finished };
    using Work = std::function<void(Turns&)>;

    // `work` runs on the thread, from the first advance() on.
    explicit Turns(Work work);
    // Ends the work: ask() returns true from then on. Waits for the thread.
    ~Turns();
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    // Lets the thread run for a step. Rethrows what `work` threw.
    End advance(const sotto_step& step);

    // On the thread, between parts of the work: polls the step's gate, and waits for the next step if the
    // gate ended this one. Returns true if the work must end.
    bool ask();
    // On the thread: ends the step, which has computed enough, and waits for the next one. Returns true if
    // the work must end.
    bool hand_over();
    // As hand_over(), and throws Error if the work must end.
    void hand_over_or_throw();

    // On the thread: limits of the present step. When the work must end, in the normal class, to end soon.
    std::uint32_t threads() const noexcept { return step_ != nullptr ? step_->threads : 1; }
    sotto_thread_class thread_class() const noexcept {
        return step_ != nullptr ? step_->thread_class : SOTTO_THREAD_NORMAL;
    }
    // Called on the thread at the beginning of each turn.
    std::function<void()> on_turn;

private:
    void work() noexcept;
    void wait_for_turn();
    void give_back(End end);

    Work work_;
    std::mutex mutex_; // guards the members below
    std::condition_variable changed_;
    bool mine_ = false; // it is the thread's turn
    bool closing_ = false;
    End end_ = End::handed_over;       // of the last turn
    const sotto_step* step_ = nullptr; // of the present turn; null: the work must end
    std::exception_ptr failure_;
    std::thread thread_;
};

} // namespace sotto::diffusion
