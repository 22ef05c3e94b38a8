// The budget of a render: steps, CPU time and nesting depth.
#pragma once

#include "runtime/fence.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>

namespace sotto::llama {

// Thrown if a chat template exceeds a limit.
class TemplateError : public Error {
public:
    using Error::Error;
};

// The first failure of a render. llama.cpp swallows exceptions while it tries templates, so after the first
// failure every further node throws the same exception, and so does check().
class RenderFailure {
public:
    // Throws the failure, if any.
    void check() const;
    // Throws TemplateError with `reason`, or an earlier failure.
    [[noreturn]] void exceed(const std::string& reason);
    // Records the exception that is being handled, for check().
    void keep_current() noexcept;

private:
    std::exception_ptr failure_;
};

// State that the renders of one request share. During its lifetime, each RenderBudget created on
// the calling thread also counts the CPU time of earlier renders, and calls `poll`. Tokenization
// between renders does not count.
class RequestRenders {
public:
    explicit RequestRenders(std::function<void()> poll);
    ~RequestRenders();
    RequestRenders(const RequestRenders&) = delete;
    RequestRenders& operator=(const RequestRenders&) = delete;

    // Returns the innermost instance of the calling thread; null: none.
    static RequestRenders* current() noexcept;
    // CPU time of all renders of the request so far.
    std::chrono::nanoseconds spent() const noexcept { return spent_; }
    void set_spent(std::chrono::nanoseconds spent) noexcept { spent_ = spent; }
    const std::function<void()>& poll() const noexcept { return poll_; }

private:
    std::function<void()> poll_;
    RequestRenders* outer_;
    std::chrono::nanoseconds spent_{0};
};

// Counts steps, CPU time and depth of one render on the calling thread.
class RenderBudget {
public:
    // `items`: messages, tools and their parts; limits grow with them. `poll`: called every 64 steps; an
    // exception from `poll` ends the render. If `poll` is empty, calls the poll of the enclosing
    // RequestRenders.
    RenderBudget(std::size_t items, RenderFailure& failure, std::function<void()> poll);
    ~RenderBudget();
    RenderBudget(const RenderBudget&) = delete;
    RenderBudget& operator=(const RenderBudget&) = delete;

    // Charges steps. A step takes about 3 us; longer operations count as several steps.
    void steps(std::size_t count);
    void enter();
    void leave() noexcept { --depth_; }

private:
    void look_up();

    const std::size_t items_;
    RenderFailure& failure_;
    std::function<void()> poll_;
    RequestRenders* request_;        // null: none
    std::chrono::nanoseconds begun_; // thread CPU time at the start, minus the time of earlier renders
    std::size_t depth_ = 0;
    std::size_t steps_ = 0;
    std::size_t next_look_ = 0; // number of steps at which the next poll is due
};

} // namespace sotto::llama
