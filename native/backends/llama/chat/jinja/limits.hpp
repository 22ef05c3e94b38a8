// Limits of what a chat template may do: it comes from a model file, and is a program.
#pragma once

#include "runtime/fence.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <jinja/value.h>
#include <string>
#include <vector>

namespace sotto::llama {

constexpr std::size_t kBytesPerStep = 32 << 10; // that are moved or compared
constexpr std::size_t kItemsPerStep = 16;       // that are copied

// A chat template that was refused because it exceeds a limit.
class TemplateError : public Error {
public:
    using Error::Error;
};

// What a template is rendered with. Limits grow with it.
struct RenderInput {
    std::size_t items = 0;     // messages, tools and their parts
    std::size_t bytes = 0;     // of their texts
    std::size_t variables = 0; // besides those that every template gets
};

// What the renders of one request have in common: while one lives, each RenderLimits made on the calling
// thread counts the CPU time of those before it too, and calls `poll`. Tokenizing between them is not
// counted.
class RequestRenders {
public:
    explicit RequestRenders(std::function<void()> poll);
    ~RequestRenders();
    RequestRenders(const RequestRenders&) = delete;
    RequestRenders& operator=(const RequestRenders&) = delete;

private:
    friend class RenderLimits;

    std::function<void()> poll_;
    RequestRenders* outer_;
    std::chrono::nanoseconds spent_{0};
};

// Counts what templates do on the calling thread while it lives, and throws TemplateError when that is too
// much. llama.cpp swallows exceptions of templates that it tries, so the first excess makes all that follows
// throw, and check() throws it again. Scopes nest; the innermost counts.
class RenderLimits {
public:
    // `poll` is called now and then; what it throws ends the rendering too.
    explicit RenderLimits(const RenderInput& input, std::function<void()> poll = {});
    ~RenderLimits();
    RenderLimits(const RenderLimits&) = delete;
    RenderLimits& operator=(const RenderLimits&) = delete;

    // Of the calling thread; nullptr: no template of ours is being rendered.
    static RenderLimits* current() noexcept;

    // Throws what exceeded a limit, if anything did.
    void check() const;
    [[noreturn]] void exceed(const std::string& reason);
    // Keeps the exception that is being handled, for check().
    void fail() noexcept;

    void enter();
    void leave() noexcept { --depth_; }
    // A step takes about 3 us; what takes longer is charged as more of them.
    void steps(std::size_t count);
    // Charges memory of values that a function makes many of.
    void bytes(std::size_t count);
    // Charges a text of `length` bytes before it is made.
    void text(std::size_t length);
    // Charges a list of `items` values before it is built from other lists.
    void list(std::size_t items);
    // A text or list of which a slice is about to be made.
    void slice(const jinja::value& whole);
    // A value that was made; texts are counted until nothing else holds them.
    void made(const jinja::value& value);
    // A value that becomes part of the text of the block around it.
    void emit(const jinja::value& value);
    // Throws unless `value` can be walked through: it is not too deep, nor too large when what it holds
    // several times is counted each time. Charges the walk.
    struct Extent {
        std::size_t values = 0;
        std::size_t bytes = 0;
    };
    Extent walk(const jinja::value& value);
    // Keeps a value that is put into another one until the end, so that neither a cycle stays in memory, nor
    // a chain of values is destroyed recursively.
    void keep(const jinja::value& value);

    std::size_t variables() const noexcept { return input_.variables; }

private:
    void walk(const jinja::value& value, std::size_t depth, Extent& extent);
    std::size_t longest() const noexcept; // of texts
    void look_up();
    void sweep(bool all) noexcept;
    void sweep_texts();

    RenderInput input_;
    std::function<void()> poll_;
    RenderLimits* outer_;
    RequestRenders* request_; // may be none
    std::chrono::nanoseconds begun_;
    std::exception_ptr failure_;
    std::size_t depth_ = 0;
    std::size_t steps_ = 0;
    std::size_t next_look_ = 0;
    std::size_t bytes_ = 0;
    std::size_t emitted_ = 0;
    std::vector<jinja::value> texts_;
    std::size_t texts_bytes_ = 0;
    std::size_t sweep_texts_at_;
    std::vector<jinja::value> kept_;
    std::size_t kept_items_ = 0; // of kept_, with what they hold directly
    std::size_t sweep_at_;
};

} // namespace sotto::llama
