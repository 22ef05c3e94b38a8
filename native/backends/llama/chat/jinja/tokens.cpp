// Checks a chat template's source against limits on length and nesting.
#include "chat/jinja/tokens.hpp"

#include "chat/jinja/limits.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace sotto::llama {
namespace {

using jinja::token;

// For comparison, llama.cpp's templates have at most 17 KB, brackets nested 4 deep, blocks nested
// 10 deep, 26 operators in an expression, and 107 names.
constexpr std::size_t kMaxSource = 256 << 10;
constexpr std::size_t kMaxBrackets = 64;
constexpr std::size_t kMaxBlocks = 64;
constexpr std::size_t kMaxLevels = 256;
constexpr std::size_t kMaxLinks = 1'000;
constexpr std::size_t kMaxNames = 2'000;

[[noreturn]] void refuse(const std::string& reason) {
    if (auto* limits = RenderLimits::current()) {
        limits->exceed(reason);
    }
    throw TemplateError(SOTTO_ERROR_MODEL, reason);
}

void check(std::size_t count, std::size_t max, const char* what) {
    if (count > max) {
        refuse(std::string("it has more than ") + std::to_string(max) + " " + what);
    }
}

class Shape {
public:
    void read(const token& token, const jinja::token* next) {
        switch (token.t) {
        case token::open_statement:
            open_tag();
            open_statement(next);
            break;
        case token::close_statement:
            close_statement();
            break;
        case token::equals:
            // without brackets, this is "set name = value", which has no body
            takes_body_ = takes_body_ && brackets_ > 0;
            break;
        case token::open_expression:
            open_tag();
            break;
        case token::open_paren:
        case token::open_square_bracket:
        case token::open_curly_bracket:
            ++links_; // a call or an index
            check(++brackets_, kMaxBrackets, "brackets in one another");
            break;
        case token::close_paren:
        case token::close_square_bracket:
        case token::close_curly_bracket:
            brackets_ -= std::min<std::size_t>(brackets_, 1);
            break;
        case token::identifier:
            names_.insert(token.value);
            check(names_.size(), kMaxNames, "names");
            links_ += is_operator(token.value) ? 1 : 0;
            break;
        case token::dot:
        case token::pipe:
        case token::additive_binary_operator:
        case token::multiplicative_binary_operator:
        case token::comparison_binary_operator:
        case token::unary_operator:
            ++links_;
            break;
        default:
            break;
        }
        check(links_, kMaxLinks, "operators in one expression");
    }

    std::size_t names() const { return names_.size(); }

private:
    static bool is_operator(const std::string& name) {
        return name == "and" || name == "or" || name == "not" || name == "in" || name == "is" || name == "if";
    }

    void open_tag() {
        links_ = 0;
        brackets_ = 0;
    }

    void open_statement(const token* next) {
        const auto name = next != nullptr && next->t == token::identifier ? next->value : "";
        takes_body_ = name == "set";
        if (name == "if" || name == "for" || name == "macro" || name == "call" || name == "filter") {
            open_block();
        } else if (name == "elif" && !blocks_.empty()) { // the parser nests elif in the previous branch
            ++blocks_.back();
            check(++levels_, kMaxLevels, "branches and blocks in one another");
        } else if (
            name == "endif" || name == "endfor" || name == "endmacro" || name == "endcall" ||
            name == "endfilter" || name == "endset"
        ) {
            close_block();
        }
    }

    void close_statement() {
        if (takes_body_) {
            open_block();
        }
        takes_body_ = false;
    }

    void open_block() {
        blocks_.push_back(1);
        check(blocks_.size(), kMaxBlocks, "blocks in one another");
        check(++levels_, kMaxLevels, "branches and blocks in one another");
    }

    void close_block() {
        if (!blocks_.empty()) {
            levels_ -= blocks_.back();
            blocks_.pop_back();
        }
    }

    std::size_t brackets_ = 0;
    std::size_t links_ = 0;
    bool takes_body_ = false;         // the current tag is a set with a body
    std::size_t levels_ = 0;          // depth of open blocks and their branches
    std::vector<std::size_t> blocks_; // levels of each open block
    std::set<std::string> names_;
};

} // namespace

void check_source(const std::string& source) {
    if (source.size() > kMaxSource) {
        refuse(
            "it has " + std::to_string(source.size()) + " bytes: expected at most " +
            std::to_string(kMaxSource)
        );
    }
}

std::size_t check_tokens(const jinja::lexer_result& template_) {
    const auto& tokens = template_.tokens;
    Shape shape;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        shape.read(tokens[i], i + 1 < tokens.size() ? &tokens[i + 1] : nullptr);
    }
    return shape.names();
}

} // namespace sotto::llama
