// Evaluates nodes of a chat template's parse tree within RenderLimits.
#include "chat/jinja/nodes.hpp"

#include "chat/jinja/calls.hpp"

#include <vector>

namespace sotto::llama {
namespace {

// A parse tree node with a value that was evaluated before.
struct Held : jinja::expression {
    value held;
    explicit Held(value held) : held(std::move(held)) {}
    value execute_impl(context&) const override { return held; }
};

statement_ptr hold(const value& held) {
    return std::make_unique<Held>(held);
}

std::vector<value> values_of(const statements& nodes, context& ctx) {
    std::vector<value> values;
    for (const auto& node : nodes) {
        values.push_back(node->execute(ctx));
    }
    return values;
}

// Name and arguments of a filter or test, which is an identifier or a call.
struct Applied {
    const jinja::identifier* name = nullptr; // null: neither an identifier nor a call
    const jinja::call_expression* call = nullptr;

    explicit Applied(const statement_ptr& node) : call(jinja::cast_stmt<jinja::call_expression>(node)) {
        name = jinja::cast_stmt<jinja::identifier>(call != nullptr ? call->callee : node);
    }
    std::vector<value> arguments(context& ctx) const {
        return call != nullptr ? values_of(call->args, ctx) : std::vector<value>();
    }
    statement_ptr with(const std::vector<value>& arguments) const {
        auto callee = std::make_unique<jinja::identifier>(name->val);
        if (call == nullptr) {
            return callee;
        }
        statements held;
        for (const auto& argument : arguments) {
            held.push_back(hold(argument));
        }
        return std::make_unique<jinja::call_expression>(std::move(callee), std::move(held));
    }
};

std::string without_alias(const std::string& name) {
    return name == "trim" ? "strip" : name;
}

} // namespace

value Body::execute_impl(context& ctx) const {
    const Step step;
    return step.run([&]() -> value {
        auto list = jinja::mk_val<jinja::value_array>();
        for (const auto& one : body) {
            list->push_back(one->execute(ctx));
        }
        auto text = jinja::mk_val<jinja::value_string>();
        jinja::gather_string_parts_recursive(list, text);
        return text;
    });
}

value LimitedBinary::execute_impl(context& ctx) const {
    const Step step;
    if (op.value == "and" || op.value == "or") {
        return binary_expression::execute_impl(ctx);
    }
    const auto a = left->execute(ctx);
    const auto b = right->execute(ctx);
    return step.run([&]() -> value {
        const bool texts = jinja::is_val<jinja::value_string>(a) && jinja::is_val<jinja::value_string>(b);
        if (texts && (op.value == "+" || op.value == "~")) {
            auto text = jinja::mk_val<jinja::value_string>();
            text->val_str = a->as_string().append(b->as_string());
            return text;
        }
        check_operator(op.value, a, b);
        if (op.value == "==" || op.value == "!=") {
            return jinja::mk_val<jinja::value_bool>((*a == *b) == (op.value == "=="));
        }
        return binary_expression(op, hold(a), hold(b)).binary_expression::execute_impl(ctx);
    });
}

value LimitedFilter::execute_impl(context& ctx) const {
    const Step step;
    const Applied applied(filter);
    if (applied.name == nullptr) {
        return filter_expression::execute_impl(ctx);
    }
    const auto input = operand->execute(ctx);
    const auto args = applied.arguments(ctx);
    return step.run([&] {
        check_call(without_alias(applied.name->val), input, args);
        return filter_expression(hold(input), applied.with(args)).filter_expression::execute_impl(ctx);
    });
}

// Evaluates a test like llama.cpp's node, but calls check_test() first.
value LimitedTest::execute_impl(context& ctx) const {
    const Step step;
    const Applied applied(test);
    if (applied.name == nullptr) {
        return test_expression::execute_impl(ctx);
    }
    auto input = operand->execute(ctx);
    const auto args = applied.arguments(ctx);
    const auto& tests = jinja::global_builtins();
    const auto found = tests.find("test_is_" + applied.name->val);
    if (found == tests.end()) {
        throw std::runtime_error("Unknown test '" + applied.name->val + "'");
    }
    if (ctx.is_get_stats) {
        jinja::value_t::stats_t::mark_used(input);
        input->stats.ops.insert(found->first);
    }
    check_test(applied.name->val, input, args);
    jinja::func_args given(ctx);
    given.push_back(input);
    for (const auto& one : args) {
        given.push_back(one);
    }
    auto result = found->second(given);
    return negate ? jinja::mk_val<jinja::value_bool>(!result->as_bool()) : result;
}

value LimitedCall::execute_impl(context& ctx) const {
    const Step step;
    const auto values = values_of(args, ctx);
    value function = callee->execute(ctx);
    if (!jinja::is_val<jinja::value_func>(function)) {
        throw std::runtime_error("Callee is not a function: got " + function->type());
    }
    const auto* called = jinja::cast_val<jinja::value_func>(function);
    return step.run([&] {
        check_call(called->name, called->arg0, values);
        if (step.limits() != nullptr && !called->arg0) { // a macro gets a copy of all variables
            step.limits()->steps((names + step.limits()->variables()) / 16);
        }
        jinja::func_args given(ctx);
        for (const auto& one : values) {
            given.push_back(one);
        }
        return called->invoke(given);
    });
}

// Rejects nested keyword arguments: a chain of them would be destroyed recursively.
value LimitedArgument::execute_impl(context& ctx) const {
    const Step step;
    auto result = keyword_argument_expression::execute_impl(ctx);
    if (jinja::is_val<jinja::value_kwarg>(jinja::cast_val<jinja::value_kwarg>(result)->val)) {
        throw std::runtime_error("cannot name an argument twice");
    }
    return result;
}

} // namespace sotto::llama
