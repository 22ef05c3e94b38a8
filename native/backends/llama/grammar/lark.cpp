#include "grammar/lark.hpp"

#include "grammar/lark_common.hpp"
#include "grammar/lark_text.hpp"
#include "grammar/regex.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxDepth = 100;            // groups inside groups
constexpr std::uint32_t kMaxRepeats = 2000;       // as in GBNF
constexpr std::string_view kIgnored = "0ignored"; // no rule of a Lark grammar begins with a digit
constexpr char kPlaceOfIgnored = '\1';

bool is_terminal(const std::string& name) {
    const auto first = name.find_first_not_of('_');
    return first != std::string::npos && name[first] >= 'A' && name[first] <= 'Z';
}

// Returns the name of a rule in GBNF, which has no underscores.
std::string rule_name(std::string name) {
    if (name == "root") {
        return "0root";
    }
    std::ranges::replace(name, '_', '-');
    return name;
}

class LarkReader {
public:
    LarkReader(const std::string& lark, const std::string& path) : text_(lark, path) {}

    std::string grammar() {
        for (text_.skip_space(true); !text_.done(); text_.skip_space(true)) {
            statement();
        }
        check_names();
        if (!rules_.contains("start")) {
            text_.refuse(0, "missing rule 'start', with which an answer starts");
        }
        std::string gbnf = std::string("root ::= ") + kPlaceOfIgnored + "start\n";
        for (const auto& [name, rule] : rules_) {
            gbnf += rule_name(name) + " ::= " + rule + "\n";
        }
        return with_ignored(gbnf);
    }

private:
    struct Reference {
        std::string name;
        std::size_t at;
    };

    // Puts the ignored terminals in their places.
    std::string with_ignored(const std::string& gbnf) const {
        std::string whole;
        for (const char byte : gbnf) {
            if (byte != kPlaceOfIgnored) {
                whole += byte;
            } else if (!ignored_.empty()) {
                whole += " " + std::string(kIgnored) + " ";
            }
        }
        if (!ignored_.empty()) {
            whole += std::string(kIgnored) + " ::= (";
            for (const auto& one : ignored_) {
                whole += (&one == &ignored_.front() ? "" : " | ") + one;
            }
            whole += ")?\n";
        }
        return whole;
    }

    void check_names() const {
        for (const auto& [name, at] : references_) {
            if (!rules_.contains(name)) {
                const std::string kind = is_terminal(name) ? "terminal" : "rule";
                text_.refuse(at, "undefined " + kind + " '" + name + "'; define it, or remove the reference");
            }
        }
    }

    void define(const std::string& name, std::size_t at, std::string gbnf) {
        if (!rules_.emplace(name, std::move(gbnf)).second) {
            text_.refuse(at, "'" + name + "' is defined twice");
        }
    }

    void end_statement() {
        text_.skip_space(false);
        if (!text_.done() && !text_.take("\n")) {
            text_.refuse(text_.at(), "expected the end of the line, not " + text_.shown());
        }
    }

    void statement() {
        if (text_.sees("%")) {
            directive();
        } else {
            definition();
        }
        end_statement();
    }

    void directive() {
        const auto at = text_.at();
        if (text_.take("%ignore")) {
            text_.skip_space(false);
            in_terminal_ = true;
            ignored_.push_back("(" + choice(0) + ")");
        } else if (text_.take("%import")) {
            import();
        } else {
            text_.refuse(
                at,
                "unsupported directive " + text_.shown() + "; only %import common and %ignore are supported"
            );
        }
    }

    void import() {
        text_.skip_space(false);
        const auto at = text_.at();
        if (!text_.take("common")) {
            text_.refuse(at, "unsupported library " + text_.shown() + "; only common is supported");
        }
        if (text_.take(".")) {
            const auto name_at = text_.at();
            const auto name = text_.name();
            text_.skip_space(false);
            if (text_.take("->")) {
                text_.skip_space(false);
                import_as(name, name_at, text_.name());
            } else {
                import_as(name, name_at, name);
            }
            return;
        }
        text_.skip_space(false);
        text_.expect("(");
        do {
            text_.skip_space(true);
            const auto name_at = text_.at();
            const auto name = text_.name();
            import_as(name, name_at, name);
            text_.skip_space(true);
        } while (text_.take(","));
        text_.expect(")");
    }

    void import_as(const std::string& name, std::size_t at, const std::string& own) {
        const auto* regex = common_terminal(name);
        if (regex == nullptr) {
            text_.refuse(at, "unknown terminal common." + name + "; known are " + common_terminals());
        }
        define(own, at, regex_expression(regex, "expression"));
    }

    void definition() {
        text_.take("?"); // marks that shape Lark's tree
        text_.take("!");
        const auto at = text_.at();
        const auto name = text_.name();
        in_terminal_ = is_terminal(name);
        if (text_.sees("{")) {
            text_.refuse(text_.at(), "templates are not supported; write a rule for each use");
        }
        if (text_.take(".")) { // a priority, which decides between parses of the same text
            text_.take("-");
            text_.number();
        }
        text_.skip_space(false);
        text_.expect(":");
        define(name, at, choice(0));
    }

    // Reads alternatives up to the end of a group, or of the statement. `depth`: groups around them.
    std::string choice(std::size_t depth) {
        std::string gbnf = sequence(depth);
        while (text_.take("|")) {
            gbnf += " | " + sequence(depth);
        }
        return gbnf;
    }

    std::string sequence(std::size_t depth) {
        std::string gbnf;
        while (true) {
            text_.skip_space(depth > 0);
            if (depth == 0) {
                text_.skip_to_alternative();
            }
            if (text_.take("->")) { // a name for Lark's tree
                text_.skip_space(false);
                text_.name();
                continue;
            }
            if (text_.done() || text_.sees("|") || text_.sees(")") || text_.sees("]") || text_.sees("\n")) {
                return gbnf.empty() ? R"("")" : gbnf;
            }
            gbnf += (gbnf.empty() ? "" : " ") + repeated(depth);
        }
    }

    std::string repeated(std::size_t depth) {
        auto one = atom(depth);
        for (const char* times : {"?", "*", "+"}) {
            if (text_.take(times)) {
                return "(" + one + ")" + times;
            }
        }
        text_.skip_space(false);
        if (!text_.take("~")) {
            return one;
        }
        text_.skip_space(false);
        const auto at = text_.at();
        const auto least = text_.number();
        text_.skip_space(false);
        auto most = least;
        if (text_.take("..")) {
            text_.skip_space(false);
            most = text_.number();
        }
        if (most > kMaxRepeats) {
            text_.refuse(at, "a repetition of more than " + std::to_string(kMaxRepeats) + " times");
        }
        if (most < least) {
            text_.refuse(at, "the repetition ends before it begins");
        }
        return "(" + one + "){" + std::to_string(least) + "," + std::to_string(most) + "}";
    }

    // In a rule, ignored terminals may stand after each token.
    std::string token(std::string gbnf) const {
        return in_terminal_ ? gbnf : "(" + gbnf + kPlaceOfIgnored + ")";
    }

    std::string atom(std::size_t depth) {
        const auto at = text_.at();
        if (depth == kMaxDepth) {
            text_.refuse(at, "groups are nested more than 100 deep");
        }
        if (text_.take("(")) {
            auto inner = choice(depth + 1);
            text_.expect(")");
            return "(" + inner + ")";
        }
        if (text_.take("[")) {
            auto inner = choice(depth + 1);
            text_.expect("]");
            return "(" + inner + ")?";
        }
        if (text_.sees("\"")) {
            return token(string_or_range());
        }
        if (text_.sees("/")) {
            return token(text_.expression());
        }
        return reference(at);
    }

    std::string string_or_range() {
        const auto at = text_.at();
        auto string = text_.string();
        text_.skip_space(false);
        if (!text_.take("..")) {
            return string;
        }
        text_.skip_space(false);
        const auto last = text_.character();
        const auto first = LarkText(text_).go_to(at).character();
        return "[" + first + "-" + last + "]";
    }

    std::string reference(std::size_t at) {
        const auto name = text_.name();
        if (text_.sees("{")) {
            text_.refuse(at, "templates are not supported; write a rule for each use");
        }
        if (in_terminal_ && !is_terminal(name)) {
            text_.refuse(
                at, "a terminal refers to the rule '" + name + "'; terminals refer to terminals only"
            );
        }
        references_.push_back({name, at});
        return is_terminal(name) ? token(rule_name(name)) : rule_name(name);
    }

    LarkText text_;
    std::map<std::string, std::string> rules_; // GBNF by name
    std::vector<Reference> references_;
    std::vector<std::string> ignored_; // GBNF of terminals after %ignore
    bool in_terminal_ = false;         // the definition that is read is a terminal's
};

} // namespace

std::string lark_grammar(const std::string& lark, const std::string& path) {
    return LarkReader(lark, path).grammar();
}

} // namespace sotto::llama
