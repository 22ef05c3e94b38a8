// Custom grammar rules that replace wrong or expensive rules of llama.cpp.
#include "grammar/schema/schema_parts.hpp"

#include <algorithm>
#include <cstdio>

#include <json-schema-to-grammar.h>
#include <trie.h>
#include <unicode.h>

namespace sotto::llama {
namespace {

constexpr const char* kOtherKeys = "x-additional-k";

// Characters that JSON strings contain unescaped.
constexpr const char* kPlain =
    "\\x20-\\x21\\x23-\\x5B\\x5D-\\x7E\\U00000080-\\U0000D7FF\\U0000E000-\\U0010FFFF";

bool is_plain(std::uint32_t character) {
    return character >= 0x20 && character != '"' && character != '\\' && character != 0x7F;
}

std::string escaped(std::uint32_t character) {
    char text[16];
    std::snprintf(text, sizeof text, "\\U%08X", character);
    return text;
}

// Returns the ranges of characters that JSON strings contain unescaped and that are not a child of this trie
// node.
std::string others(const common_trie::node& node) {
    std::string ranges;
    std::uint32_t from = 0x20;
    const auto upto = [&](std::uint32_t end) {
        if (from < end) {
            ranges += escaped(from) + "-" + escaped(end - 1);
        }
    };
    std::map<std::uint32_t, std::uint32_t> gaps = {{'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}, {0xD800, 0xDFFF}};
    for (const auto& [character, child] : node.children) {
        gaps.emplace(character, character);
    }
    for (const auto& [first, last] : gaps) {
        upto(first);
        from = last + 1;
    }
    upto(0x110000);
    return ranges;
}

std::string other_than(const common_trie& trie, std::size_t at) {
    const auto& node = trie.nodes[at];
    std::string rule = "[" + others(node) + "] plain-char*";
    for (const auto& [character, child] : node.children) {
        const auto& next = trie.nodes[child];
        const auto rest = next.children.empty() ? "plain-char+" : "(" + other_than(trie, child) + ")";
        const bool may_end = next.pattern < 0; // no name ends at this node
        rule += " | [" + escaped(character) + "] " + rest + (may_end ? "?" : "");
    }
    return rule;
}

std::string one_of(const common_trie& trie, std::size_t at) {
    std::string rule;
    if (trie.nodes[at].pattern >= 0) {
        rule = "\"\"";
    }
    for (const auto& [character, child] : trie.nodes[at].children) {
        std::string text = common_unicode_cpt_to_utf8(character);
        auto end = child;
        while (trie.nodes[end].pattern < 0 && trie.nodes[end].children.size() == 1) {
            const auto& [next, further] = *trie.nodes[end].children.begin();
            text += common_unicode_cpt_to_utf8(next);
            end = further;
        }
        rule += (rule.empty() ? "" : " | ") + gbnf_format_literal(text);
        if (!trie.nodes[end].children.empty()) {
            rule += " (" + one_of(trie, end) + ")";
        }
    }
    return rule;
}

// Returns replacements for llama.cpp's rules of the same names.
const std::map<std::string, std::string>& stricter_rules() {
    static const auto& rules = *new std::map<std::string, std::string>{
        // No escaped lone surrogates, and no ill-formed bytes.
        {"char",
         "plain-char | [\\\\] ([\"\\\\/bfnrt] | \"u\" ([0-9a-cA-Ce-fE-F] [0-9a-fA-F]{3} | [dD] [0-7] "
         "[0-9a-fA-F]{2}))"},
        // No exponent that overflows a double to infinity.
        {"number", "\"-\"? integral-part (\".\" decimal-part)? ([eE] [-+]? [0-9]{1,2})?"},
        // No impossible dates such as 31 February.
        {"date",
         "([1-9] [0-9]{3}) \"-\" ((\"0\" [13578] | \"1\" [02]) \"-\" (\"0\" [1-9] | [1-2] [0-9] | \"3\" "
         "[01]) | "
         "(\"0\" [469] | \"11\") \"-\" (\"0\" [1-9] | [1-2] [0-9] | \"30\") | \"02-\" (\"0\" [1-9] | \"1\" "
         "[0-9] | "
         "\"2\" [0-8]))"},
    };
    return rules;
}

using Rules = std::vector<std::pair<std::string, std::string>>;

// Splits a grammar of llama.cpp into rules, one per line.
Rules rules_of(const std::string& grammar) {
    Rules rules;
    for (std::size_t from = 0; from < grammar.size();) {
        const auto end = std::min(grammar.find('\n', from), grammar.size());
        const auto mid = grammar.find(" ::= ", from);
        rules.emplace_back(grammar.substr(from, mid - from), grammar.substr(mid + 5, end - mid - 5));
        from = end + 1;
    }
    return rules;
}

// Returns llama.cpp's built-in rules for JSON.
const std::map<std::string, std::string>& stock_rules() {
    static const auto& rules = *[] {
        const auto grammar = json_schema_to_grammar(
            common_json::parse(R"({"anyOf": [{"type": "object"}, {"type": "string", "format": "date"}]})")
        );
        const auto all = rules_of(grammar);
        return new std::map<std::string, std::string>(all.begin(), all.end());
    }();
    return rules;
}

std::string mended(const std::string& name, const std::string& content, const SchemaRules& rules) {
    const auto at = name.find(kOtherKeys);
    if (const auto ours = rules.find(name); ours != rules.end() && at == std::string::npos) {
        return ours->second;
    }
    if (const auto ours = stricter_rules().find(name);
        ours != stricter_rules().end() && stock_rules().at(name) == content) {
        return ours->second;
    }
    // Replaces the converter's rule for additional keys of an object. The rule of a member named
    // "additional-k" may have the same name.
    if (at != std::string::npos && content.starts_with("[\"] (")) {
        if (const auto ours = rules.find(name.substr(0, at + std::string(kOtherKeys).size()));
            ours != rules.end()) {
            return ours->second;
        }
    }
    return content;
}

} // namespace

std::string one_of_rule(const std::vector<std::string>& texts) {
    return one_of(common_trie(texts), 0);
}

std::string other_key_rule(const std::vector<std::string>& names) {
    std::vector<std::string> plain;
    bool empty_too = false;
    for (const auto& name : names) {
        common_trie letters({name});
        bool possible = true; // the rule generates no escapes, so a name with escapes cannot collide
        for (const auto& node : letters.nodes) {
            possible = possible && (node.children.empty() || is_plain(node.children.begin()->first));
        }
        empty_too = empty_too || name.empty();
        if (possible && !name.empty()) {
            plain.push_back(name);
        }
    }
    const auto rule = plain.empty() ? std::string("plain-char+") : other_than(common_trie(plain), 0);
    return "\"\\\"\" (" + rule + ")" + (empty_too ? "" : "?") + " \"\\\"\"";
}

std::string mended_grammar(const std::string& grammar, const SchemaRules& rules) {
    std::string result;
    for (const auto& [name, content] : rules_of(grammar)) {
        result += name + " ::= " + mended(name, content, rules) + "\n";
    }
    return result + "plain-char ::= [" + kPlain + "]\n";
}

} // namespace sotto::llama
