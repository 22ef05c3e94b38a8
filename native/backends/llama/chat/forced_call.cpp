// Forces an answer to be a tool call, for requests with a "tool_choice" that requires one.
#include "chat/forced_call.hpp"

#include "runtime/json_parts.hpp"

#include <chat-auto-parser-helpers.h>
#include <chat-peg-parser.h>
#include <json-schema-to-grammar.h>
#include <set>

namespace sotto::llama {
namespace {

// Returns the names of the grammar rules for free text that is content. llama.cpp names the rule of free
// text after the index of its parser.
std::set<std::string> content_rules(const std::string& parser) {
    const auto arena = Json::parse(parser);
    const auto& parsers = arena.at("parsers");
    std::set<std::string> names;
    for (const auto& one : parsers) {
        if (one.at("type") != "tag" || one.at("tag") != common_chat_peg_builder::CONTENT) {
            continue;
        }
        const auto child = one.at("child").get<std::size_t>();
        if (parsers.at(child).at("type") == "until") {
            names.insert("until-" + std::to_string(child));
        }
    }
    return names;
}

// Returns `grammar`, whose rules are lines, with these rules matching empty lines only, and with few blanks
// between the parts of JSON, so that a call ends.
std::string tightened(const std::string& grammar, const std::set<std::string>& names) {
    std::string result;
    for (std::size_t from = 0; from < grammar.size();) {
        const auto end = std::min(grammar.find('\n', from), grammar.size());
        const auto rule = grammar.substr(from, end - from);
        const auto name = rule.substr(0, rule.find(" ::= "));
        result += names.contains(name) ? name + R"( ::= "\n"{0,3})"
                  : name == "space"    ? R"(space ::= | " " | "\n"{1,2} [ ]{0,4})"
                                       : rule;
        result += '\n';
        from = end + 1;
    }
    return result;
}

// Sets a format with reasoning, if the template has it, and one call: {"name": ..., "arguments": {...}}.
void set_generic_call(common_chat_params& how, const common_chat_templates_inputs& inputs) {
    const bool thinks = inputs.reasoning_format != COMMON_REASONING_FORMAT_NONE &&
                        !how.thinking_start_tag.empty() && !how.thinking_end_tags.empty();
    const auto start = thinks ? trim_whitespace(how.thinking_start_tag) : std::string();
    const auto tools = common_chat_tools_to_json_oaicompat(inputs.tools);
    const auto parser = build_chat_peg_parser([&](common_chat_peg_builder& p) {
        auto reasoning = p.eps();
        if (thinks) {
            const auto& end = how.thinking_end_tags.front();
            reasoning = p.optional(
                p.optspace(how.thinking_start_tag) + p.reasoning(p.until(trim_whitespace(end))) +
                p.optspace(end)
            );
        }
        return p.prefix(how.generation_prompt, start) + p.space() + reasoning + p.space() +
               p.standard_json_tools("", "", tools, false, true) + p.end();
    });
    how.format = COMMON_CHAT_FORMAT_PEG_NATIVE;
    how.parser = parser.save();
    how.grammar_lazy = false;
    how.grammar_triggers.clear();
    how.grammar =
        build_grammar([&](const common_grammar_builder& builder) { parser.build_grammar(builder, false); });
}

} // namespace

void force_call(common_chat_params& how, const common_chat_templates_inputs& inputs) {
    std::set<std::string> content;
    if (how.grammar.empty()) {
        set_generic_call(how, inputs);
    } else if (!how.parser.empty()) {
        content = content_rules(how.parser);
    }
    how.grammar = tightened(how.grammar, content);
}

std::vector<std::string> shortest_calls(const Json& tools) {
    std::vector<std::string> calls;
    for (const auto& tool : tools) {
        const auto& function = tool.at("function");
        auto arguments = Json::object();
        if (const auto* parameters = find(function, "parameters"); parameters != nullptr) {
            const auto required = parameters->value("required", Json::array());
            for (const auto& name : required) {
                arguments[name.get<std::string>()] = "";
            }
        }
        calls.push_back(text_of(Json{{"name", function.at("name")}, {"arguments", arguments}}));
    }
    return calls;
}

void show_tools(Json& messages, const common_chat_templates_inputs& inputs) {
    std::string text = "Tools:";
    for (const auto& tool : inputs.tools) {
        text += "\n- {\"name\": " + text_of(Json(tool.name)) +
                ", \"description\": " + text_of(Json(tool.description)) +
                ", \"parameters\": " + tool.parameters + "}";
    }
    text += "\nAnswer with one call, as JSON: {\"name\": ..., \"arguments\": {...}}";
    const bool has = !messages.empty() &&
                     (messages.front().at("role") == "system" || messages.front().at("role") == "developer");
    if (!has) {
        messages.insert(messages.begin(), Json{{"role", "system"}, {"content", text}});
        return;
    }
    auto& content = messages.front()["content"];
    if (content.is_array()) {
        content.push_back({{"type", "text"}, {"text", "\n\n" + text}});
    } else {
        content = (content.is_string() ? content.get<std::string>() + "\n\n" : "") + text;
    }
}

} // namespace sotto::llama
