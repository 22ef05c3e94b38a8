// What a render may spend: steps, CPU time and nesting depth.
#pragma once

#include "runtime/fence.hpp"

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <string>

namespace sotto::llama {

// A chat template that was refused because it exceeds a limit.
class TemplateError : public Error {
public:
    using Error::Error;
};

// The first failure of a render. llama.cpp swallows exceptions of templates that it tries, so the first one
// makes all that follows throw, and check() throws it again.
class RenderFailure {
public:
    // Throws the failure, if there is one.
    void check() const;
    // Throws TemplateError, or an earlier failure.
    [[noreturn]] void exceed(const std::string& reason);
    // Keeps the exception that is being handled, for check().
    void keep_current() noexcept;

private:
    std::exception_ptr failure_;
};

// What the renders of one request have in common: while one lives, each RenderBudget made on the calling
// thread counts the CPU time of those before it too, and calls `poll`. Tokenizing between them is not
// counted.
class RequestRenders {
public:
    explicit RequestRenders(std::function<void()> poll);
    ~RequestRenders();
    RequestRenders(const RequestRenders&) = delete;
    RequestRenders& operator=(const RequestRenders&) = delete;

    // The innermost of the calling thread; may be null.
    static RequestRenders* current() noexcept;
    // CPU time of the renders so far.
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
    // `items`: messages, tools and their parts; limits grow with them. `poll`: called now and then; what it
    // throws ends the render. Empty: that of the RequestRenders around.
    RenderBudget(std::size_t items, RenderFailure& failure, std::function<void()> poll);
    ~RenderBudget();
    RenderBudget(const RenderBudget&) = delete;
    RenderBudget& operator=(const RenderBudget&) = delete;

    // A step takes about 3 us; what takes longer is charged as several.
    void steps(std::size_t count);
    void enter();
    void leave() noexcept { --depth_; }

private:
    void look_up();

    const std::size_t items_;
    RenderFailure& failure_;
    std::function<void()> poll_;
    RequestRenders* request_; // may be null
    std::chrono::nanoseconds begun_;
    std::size_t depth_ = 0;
    std::size_t steps_ = 0;
    std::size_t next_look_ = 0; // steps
};

} // namespace sotto::llama
