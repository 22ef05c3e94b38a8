// Limits of what a chat template may do: it comes from a model file, and is a program.
#pragma once

#include "chat/jinja/held_values.hpp"
#include "chat/jinja/render_budget.hpp"

#include <cstddef>
#include <functional>
#include <jinja/value.h>
#include <string>

namespace sotto::llama {

constexpr std::size_t kBytesPerStep = 32 << 10; // that are moved or compared
constexpr std::size_t kItemsPerStep = 16;       // that are copied

// What a template is rendered with. Limits grow with it.
struct RenderInput {
    std::size_t items = 0;     // messages, tools and their parts
    std::size_t bytes = 0;     // of their texts
    std::size_t variables = 0; // besides those that every template gets
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
    void check() const { failure_.check(); }
    [[noreturn]] void exceed(const std::string& reason) { failure_.exceed(reason); }
    // Keeps the exception that is being handled, for check().
    void fail() noexcept { failure_.keep_current(); }

    void enter() { budget_.enter(); }
    void leave() noexcept { budget_.leave(); }
    // A step takes about 3 us; what takes longer is charged as more of them.
    void steps(std::size_t count) { budget_.steps(count); }
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
    void keep(const jinja::value& value) { kept_.keep(value); }

    std::size_t variables() const noexcept { return input_.variables; }

private:
    void walk(const jinja::value& value, std::size_t depth, Extent& extent);
    std::size_t longest() const noexcept; // of texts

    const RenderInput input_;
    RenderLimits* outer_;
    RenderFailure failure_;
    RenderBudget budget_; // its time includes the destruction of what follows
    std::size_t bytes_ = 0;
    std::size_t emitted_ = 0;
    LiveTexts texts_;
    KeptContainers kept_;
};

} // namespace sotto::llama
