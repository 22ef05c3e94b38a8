// Limits of a chat template, which is a program from a model file.
#pragma once

#include "chat/jinja/held_values.hpp"
#include "chat/jinja/render_budget.hpp"

#include <cstddef>
#include <functional>
#include <jinja/value.h>
#include <string>

namespace sotto::llama {

constexpr std::size_t kBytesPerStep = 32 << 10; // bytes moved or compared
constexpr std::size_t kItemsPerStep = 16;       // items copied

// Size of a render's input. Limits grow with the input.
struct RenderInput {
    std::size_t items = 0;     // messages, tools and their parts
    std::size_t bytes = 0;     // of the texts of `items`
    std::size_t variables = 0; // variables that the request adds (chat_template_kwargs)
};

// Counts the work of templates on the calling thread during its lifetime, and throws TemplateError if the
// work exceeds a limit. llama.cpp swallows exceptions while it tries templates, so after the first failure
// every further step throws the same exception, and so does check(). Instances nest: only the innermost one
// of a thread counts.
class RenderLimits {
public:
    // `poll` is called regularly; an exception from `poll` also ends the render.
    explicit RenderLimits(const RenderInput& input, std::function<void()> poll = {});
    ~RenderLimits();
    RenderLimits(const RenderLimits&) = delete;
    RenderLimits& operator=(const RenderLimits&) = delete;

    // Returns the innermost scope of the calling thread; null: none.
    static RenderLimits* current() noexcept;

    // Throws the first failure, if any.
    void check() const { failure_.check(); }
    // Throws TemplateError with `reason`, or an earlier failure.
    [[noreturn]] void exceed(const std::string& reason) { failure_.exceed(reason); }
    // Records the exception that is being handled, for check().
    void fail() noexcept { failure_.keep_current(); }

    void enter() { budget_.enter(); }
    void leave() noexcept { budget_.leave(); }
    // Charges steps. A step takes about 3 us; longer operations count as several steps.
    void steps(std::size_t count) { budget_.steps(count); }
    // Charges the bytes of values that a function creates in bulk.
    void bytes(std::size_t count);
    // Throws if a text of `length` bytes would be too long. Call it before the text is created.
    void text(std::size_t length);
    // Throws if a list of `items` values would be too long. Call it before the list is created.
    void list(std::size_t items);
    // Charges the slicing of a text or list. Call it before the slice is created.
    void slice(const jinja::value& whole);
    // Charges a created value. Counts a text until nothing else references it.
    void made(const jinja::value& value);
    // Charges a value that becomes part of the text of the enclosing block.
    void emit(const jinja::value& value);
    // Charges a walk through `value`. Throws if `value` is too deep or too large; an inner value counts each
    // time that it occurs in `value`.
    struct Extent {
        std::size_t values = 0;
        std::size_t bytes = 0;
    };
    Extent walk(const jinja::value& value);
    // Keeps a value that is stored in another one until the render ends, so that a cycle does not
    // leak and a chain of values is not destroyed recursively.
    void keep(const jinja::value& value) { kept_.keep(value); }

    std::size_t variables() const noexcept { return input_.variables; }

private:
    void walk(const jinja::value& value, std::size_t depth, Extent& extent);
    std::size_t longest() const noexcept; // maximum length of a text, in bytes

    const RenderInput input_;
    RenderLimits* outer_;
    RenderFailure failure_;
    RenderBudget budget_; // also measures the destruction of the members below
    std::size_t bytes_ = 0;
    std::size_t emitted_ = 0;
    LiveTexts texts_;
    KeptContainers kept_;
};

} // namespace sotto::llama
