// Replaces the nodes that llama.cpp's parser creates with nodes that respect RenderLimits.
#include "chat/jinja/nodes.hpp"
#include "chat/jinja/tokens.hpp"

#include <jinja/parser.h>

namespace jinja {

// llama.cpp's parser, compiled under this name
program parse_without_limits(const lexer_result& lexed);

} // namespace jinja

namespace sotto::llama {
namespace {

class Limiter {
public:
    explicit Limiter(std::size_t names) : names_(names) {}

    void block(statements& nodes) const {
        for (auto& node : nodes) {
            limit(node);
            node = std::make_unique<Emitted>(std::move(node));
        }
    }

private:
    template <typename Node>
    static Node* as(const statement_ptr& node) {
        return dynamic_cast<Node*>(node.get());
    }

    template <typename Node, typename... Parts>
    static void replace(statement_ptr& node, Parts&&... parts) {
        auto limited = std::make_unique<Node>(std::forward<Parts>(parts)...);
        limited->pos = node->pos;
        node = std::move(limited);
    }

    template <typename Wrapper, typename... More>
    static void wrap(statement_ptr& node, More... more) {
        if (node) {
            node = std::make_unique<Wrapper>(std::move(node), more...);
        }
    }

    void stored(statements& nodes) const {
        for (auto& node : nodes) {
            limit(node);
            wrap<Stored>(node);
        }
    }

    // Replaces the arguments of a filter or test with nodes that respect RenderLimits.
    void applied(const statement_ptr& node) const {
        if (auto* call = as<jinja::call_expression>(node)) {
            stored(call->args);
        }
    }

    void limit(statement_ptr& node) const {
        if (node && !limit_statement(node) && !limit_access(node)) {
            limit_expression(node);
        }
    }

    bool limit_statement(statement_ptr& node) const {
        if (auto* one = as<jinja::if_statement>(node)) {
            limit(one->test);
            block(one->body);
            block(one->alternate);
            replace<Limited<jinja::if_statement>>(
                node, std::move(one->test), std::move(one->body), std::move(one->alternate)
            );
        } else if (auto* one = as<jinja::for_statement>(node)) {
            limit_loop(node, *one);
        } else if (auto* one = as<jinja::set_statement>(node)) {
            limit_set(node, *one);
        } else if (auto* one = as<jinja::macro_statement>(node)) {
            defaults(one->args);
            block(one->body);
        } else if (auto* one = as<jinja::call_statement>(node)) {
            auto* call = as<jinja::call_expression>(one->call);
            limit(call->callee);
            wrap<MacroOnly>(call->callee);
            stored(call->args);
            defaults(one->caller_args);
            block(one->body);
            replace<Limited<jinja::call_statement>>(
                node, std::move(one->call), std::move(one->caller_args), std::move(one->body)
            );
        } else if (auto* one = as<jinja::filter_statement>(node)) {
            block(one->body);
            applied(one->filter);
            replace<LimitedFilter>(
                node, std::make_unique<Body>(std::move(one->body)), std::move(one->filter)
            );
        } else {
            return false;
        }
        return true;
    }

    void defaults(statements& parameters) const {
        for (auto& parameter : parameters) {
            if (auto* named = as<jinja::keyword_argument_expression>(parameter)) {
                limit(named->val);
            }
        }
    }

    void limit_loop(statement_ptr& node, jinja::for_statement& loop) const {
        if (auto* select = as<jinja::select_expression>(loop.iterable)) {
            limit(select->lhs);
            wrap<Iterated>(select->lhs, names_);
            limit(select->test);
        } else {
            limit(loop.iterable);
            wrap<Iterated>(loop.iterable, names_);
        }
        block(loop.body);
        block(loop.default_block);
        replace<Limited<jinja::for_statement>>(
            node,
            std::move(loop.loopvar),
            std::move(loop.iterable),
            std::move(loop.body),
            std::move(loop.default_block)
        );
    }

    void limit_set(statement_ptr& node, jinja::set_statement& set) const {
        limit(set.val);
        block(set.body);
        if (auto* member = as<jinja::member_expression>(set.assignee)) {
            limit(member->object);
            wrap<Stored>(set.val);
        }
        replace<Limited<jinja::set_statement>>(
            node, std::move(set.assignee), std::move(set.val), std::move(set.body)
        );
    }

    bool limit_access(statement_ptr& node) const {
        if (auto* one = as<jinja::member_expression>(node)) {
            limit(one->object);
            if (auto* slice = as<jinja::slice_expression>(one->property)) {
                limit(slice->start_expr);
                limit(slice->stop_expr);
                limit(slice->step_expr);
                wrap<Stride>(slice->step_expr);
                wrap<Sliced>(one->object);
            } else if (one->computed) {
                limit(one->property);
                wrap<Key>(one->property);
            }
            replace<Limited<jinja::member_expression>>(
                node, std::move(one->object), std::move(one->property), one->computed
            );
        } else if (auto* one = as<jinja::call_expression>(node)) {
            limit(one->callee);
            stored(one->args);
            replace<LimitedCall>(node, std::move(one->callee), std::move(one->args), names_);
        } else if (auto* one = as<jinja::filter_expression>(node)) {
            limit(one->operand);
            applied(one->filter);
            replace<LimitedFilter>(node, std::move(one->operand), std::move(one->filter));
        } else if (auto* one = as<jinja::test_expression>(node)) {
            limit(one->operand);
            applied(one->test);
            replace<LimitedTest>(node, std::move(one->operand), one->negate, std::move(one->test));
        } else if (auto* one = as<jinja::keyword_argument_expression>(node)) {
            limit(one->val);
            wrap<Stored>(one->val);
            replace<LimitedArgument>(node, std::move(one->key), std::move(one->val));
        } else {
            return false;
        }
        return true;
    }

    void limit_expression(statement_ptr& node) const {
        if (auto* one = as<jinja::identifier>(node)) {
            replace<Limited<jinja::identifier>>(node, one->val);
        } else if (auto* one = as<jinja::string_literal>(node)) {
            replace<Limited<jinja::string_literal>>(node, one->val);
        } else if (auto* one = as<jinja::binary_expression>(node)) {
            limit(one->left);
            limit(one->right);
            replace<LimitedBinary>(node, std::move(one->op), std::move(one->left), std::move(one->right));
        } else if (auto* one = as<jinja::unary_expression>(node)) {
            limit(one->argument);
            replace<Limited<jinja::unary_expression>>(node, std::move(one->op), std::move(one->argument));
        } else if (auto* one = as<jinja::ternary_expression>(node)) {
            limit(one->condition);
            limit(one->true_expr);
            limit(one->false_expr);
            replace<Limited<jinja::ternary_expression>>(
                node, std::move(one->condition), std::move(one->true_expr), std::move(one->false_expr)
            );
        } else if (auto* one = as<jinja::select_expression>(node)) {
            limit(one->lhs);
            limit(one->test);
            replace<Limited<jinja::select_expression>>(node, std::move(one->lhs), std::move(one->test));
        } else if (auto* one = as<jinja::array_literal>(node)) {
            stored(one->val);
            replace<Limited<jinja::array_literal>>(node, std::move(one->val));
        } else if (auto* one = as<jinja::tuple_literal>(node)) {
            stored(one->val);
            replace<Limited<jinja::tuple_literal>>(node, std::move(one->val));
        } else if (auto* one = as<jinja::object_literal>(node)) {
            for (auto& [key, item] : one->val) {
                limit(key);
                wrap<Stored>(key);
                wrap<Key>(key);
                limit(item);
                wrap<Stored>(item);
            }
            replace<Limited<jinja::object_literal>>(node, std::move(one->val));
        }
    }

    std::size_t names_;
};

} // namespace
} // namespace sotto::llama

jinja::program jinja::parse_from_tokens(const lexer_result& lexed) {
    const auto names = sotto::llama::check_tokens(lexed);
    auto program = parse_without_limits(lexed);
    sotto::llama::Limiter(names).block(program.body);
    return program;
}
