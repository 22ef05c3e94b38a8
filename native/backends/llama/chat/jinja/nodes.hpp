// Nodes of a chat template's parse tree that behave like llama.cpp's nodes, within RenderLimits.
#pragma once

#include "chat/jinja/limits.hpp"

#include <jinja/runtime.h>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace sotto::llama {

using jinja::context;
using jinja::statement_ptr;
using jinja::statements;
using jinja::value;

// Evaluation of one node: counts as one step and one level of depth in the thread's RenderLimits, if any.
class Step {
public:
    Step() : limits_(RenderLimits::current()) {
        if (limits_ != nullptr) {
            limits_->enter();
        }
    }
    ~Step() {
        if (limits_ != nullptr) {
            limits_->leave();
        }
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    RenderLimits* limits() const noexcept { return limits_; }

    // Runs `body` and charges the value that it creates. Records a failed allocation, because
    // callers may swallow exceptions.
    template <typename Body>
    value run(Body&& body) const {
        try {
            auto result = body();
            if (limits_ != nullptr) {
                limits_->made(result);
            }
            return result;
        } catch (const std::bad_alloc&) {
            if (limits_ != nullptr) {
                limits_->fail();
            }
            throw;
        }
    }

private:
    RenderLimits* limits_;
};

template <typename Node>
struct Limited : Node {
    using Node::Node;
    value execute_impl(context& ctx) const override {
        const Step step;
        if (is_made_before()) {
            return Node::execute_impl(ctx);
        }
        return step.run([&] { return Node::execute_impl(ctx); });
    }
    // Returns true if evaluation creates no value: for a variable
    // or a part of an existing value. A slice is a copy.
    bool is_made_before() const {
        if constexpr (std::is_same_v<Node, jinja::member_expression>) {
            return !jinja::is_stmt<jinja::slice_expression>(this->property);
        }
        return std::is_same_v<Node, jinja::identifier>;
    }
};

// Wraps `inner` and passes its value to see().
struct Seen : jinja::expression {
    statement_ptr inner;
    explicit Seen(statement_ptr&& node) : inner(std::move(node)) { pos = inner->pos; }
    std::string type() const override { return inner->type(); }
    void visit(context& ctx) const override { inner->visit(ctx); }
    value execute_impl(context& ctx) const final {
        auto result = inner->execute_impl(ctx);
        if (auto* limits = RenderLimits::current()) {
            see(*limits, result);
        }
        return result;
    }
    virtual void see(RenderLimits& limits, const value& result) const = 0;
};

// A statement of a block. Its value becomes output.
struct Emitted : Seen {
    using Seen::Seen;
    void see(RenderLimits& limits, const value& result) const override { limits.emit(result); }
};

// A value that is stored in a list, an object or an argument.
struct Stored : Seen {
    using Seen::Seen;
    void see(RenderLimits& limits, const value& result) const override { limits.keep(result); }
};

// A value that becomes a key of an object, and is therefore hashed.
struct Key : Seen {
    using Seen::Seen;
    void see(RenderLimits& limits, const value& result) const override {
        if (!result->val_arr.empty()) {
            limits.walk(result);
        }
    }
};

// A value that is sliced.
struct Sliced : Seen {
    using Seen::Seen;
    void see(RenderLimits& limits, const value& result) const override { limits.slice(result); }
};

// The step of a slice.
struct Stride : Seen {
    using Seen::Seen;
    void see(RenderLimits& limits, const value& result) const override {
        constexpr std::int64_t kMax = std::int64_t{1} << 40;
        if (result->is_numeric() && (result->val_int > kMax || result->val_int < -kMax)) {
            limits.exceed("it takes a slice of " + std::to_string(result->val_int));
        }
    }
};

// A value that a loop iterates over. Charges a copy of the variables for each item.
struct Iterated : Seen {
    std::size_t names;
    Iterated(statement_ptr&& node, std::size_t names) : Seen(std::move(node)), names(names) {}
    void see(RenderLimits& limits, const value& result) const override {
        const auto count = result->val_arr.size() + result->val_obj.size();
        limits.steps(count * (1 + (names + limits.variables()) / 16));
    }
};

// The callee of a call block. Rejects functions other than macros, because a call block does not check their
// arguments.
struct MacroOnly : Seen {
    using Seen::Seen;
    void see(RenderLimits&, const value& result) const override {
        const auto* function = jinja::cast_val<jinja::value_func>(result);
        if (function != nullptr && (function->arg0 || jinja::global_builtins().contains(function->name))) {
            throw std::runtime_error("cannot call " + function->name + " with a block");
        }
    }
};

// The statements of a block, concatenated to one text.
struct Body : jinja::expression {
    statements body;
    explicit Body(statements&& body) : body(std::move(body)) {}
    value execute_impl(context& ctx) const override;
};

struct LimitedBinary : jinja::binary_expression {
    using binary_expression::binary_expression;
    value execute_impl(context& ctx) const override;
};

struct LimitedFilter : jinja::filter_expression {
    using filter_expression::filter_expression;
    value execute_impl(context& ctx) const override;
};

struct LimitedTest : jinja::test_expression {
    using test_expression::test_expression;
    value execute_impl(context& ctx) const override;
};

// Evaluates a call like llama.cpp's node, but calls check_call() first. `names`: number of names in the
// template.
struct LimitedCall : jinja::call_expression {
    std::size_t names;
    LimitedCall(statement_ptr&& callee, statements&& args, std::size_t names)
        : call_expression(std::move(callee), std::move(args)), names(names) {}
    value execute_impl(context& ctx) const override;
};

struct LimitedArgument : jinja::keyword_argument_expression {
    using keyword_argument_expression::keyword_argument_expression;
    value execute_impl(context& ctx) const override;
};

} // namespace sotto::llama
