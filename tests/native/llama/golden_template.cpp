// Chat templates of llama.cpp's tree, and their inputs.
#include "golden_template.hpp"
#include "support/paths.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <sstream>

namespace golden {
namespace {

std::string content_of(const std::filesystem::path& path) {
    std::ostringstream content;
    content << std::ifstream(path, std::ios::binary).rdbuf();
    return content.str();
}

void replace_all(std::string& text, const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
        text.replace(at, what.size(), with);
    }
}

} // namespace

Template::Template(const std::filesystem::path& file)
    : name(file.stem().string()), source(content_of(file)), vocabulary(Vocabulary::of_template(source)),
      constraints(vocabulary.vocab()), chat(vocabulary.model(), vocabulary.tokenizer(), constraints, source) {
}

std::vector<std::filesystem::path> template_files() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(test::paths::kLlamaModels) + "/templates")) {
        if (entry.path().extension() == ".jinja") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

Json tools() {
    return Json::parse(R"([
        {"type": "function", "function": {
            "name": "get_weather", "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {
                "city": {"type": "string", "description": "Where"},
                "days": {"type": "integer"}, "exact": {"type": "boolean"},
                "hours": {"type": "array", "items": {"type": "integer"}}
            }, "required": ["city"], "additionalProperties": false}
        }},
        {"type": "function", "function": {
            "name": "open_gate", "description": "Opens the gate.",
            "parameters": {"type": "object", "properties": {}, "required": [], "additionalProperties": false}
        }}
    ])");
}

const Json& conversations() {
    static const Json all = Json::parse(R"({
        "system and user": {"messages": [
            {"role": "system", "content": "You guard the gate."}, {"role": "user", "content": "Who goes there?"}
        ]},
        "turns": {"messages": [
            {"role": "system", "content": "You guard the gate."}, {"role": "user", "content": "Who goes there?"},
            {"role": "assistant", "content": "I do.\nÀ bientôt 🦙"}, {"role": "user", "content": "Why?"}
        ]},
        "developer": {"messages": [
            {"role": "developer", "content": "You guard the gate."}, {"role": "user", "content": "Who goes there?"}
        ]},
        "user alone, no answer begun": {
            "messages": [{"role": "user", "content": "Who goes there?"}], "add_generation_prompt": false
        },
        "text in parts": {"messages": [{"role": "user", "content": [
            {"type": "text", "text": "Who goes"}, {"type": "text", "text": "there?"}
        ]}]},
        "thinking on": {
            "messages": [{"role": "user", "content": "Who goes there?"}],
            "chat_template_kwargs": {"enable_thinking": true, "thinking": true}, "reasoning_effort": "high"
        },
        "thinking off": {
            "messages": [{"role": "user", "content": "Who goes there?"}],
            "chat_template_kwargs": {"enable_thinking": false, "thinking": false}, "reasoning_effort": "none"
        },
        "answer continued": {
            "messages": [{"role": "user", "content": "Who goes there?"}, {"role": "assistant", "content": "It is I, the"}],
            "continue_final_message": true
        },
        "thought continued": {
            "messages": [
                {"role": "user", "content": "Who goes there?"},
                {"role": "assistant", "content": "", "reasoning_content": "A guest, so"}
            ],
            "continue_final_message": true
        },
        "tools offered": {"messages": [{"role": "user", "content": "Is it raining?"}], "with tools": true},
        "tools used": {"messages": [
            {"role": "user", "content": "Is it raining?"},
            {"role": "assistant", "content": "", "reasoning_content": "I had better look.", "tool_calls": [
                {"id": "000000001", "type": "function", "function": {
                    "name": "get_weather", "arguments": "{\"city\": \"Köln\", \"days\": 2, \"hours\": [6, 18]}"
                }}
            ]},
            {"role": "tool", "tool_call_id": "000000001", "name": "get_weather", "content": "{\"rain\": true}"},
            {"role": "assistant", "content": "It is."}, {"role": "user", "content": "Still?"}
        ], "with tools": true},
        "two tools used": {"messages": [
            {"role": "user", "content": "Is it raining? And let me in."},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "000000001", "type": "function", "function": {
                    "name": "get_weather", "arguments": "{\"city\": \"Köln\"}"
                }},
                {"id": "000000002", "type": "function", "function": {"name": "open_gate", "arguments": "{}"}}
            ]},
            {"role": "tool", "tool_call_id": "000000001", "name": "get_weather", "content": "rain"},
            {"role": "tool", "tool_call_id": "000000002", "name": "open_gate", "content": "open"}
        ], "with tools": true}
    })");
    return all;
}

const Json& exchanges() {
    static const Json all = Json::parse(R"({
        "says": {"answer": {"content": "It is I.\n\n- the *king* of \"Köln\" <b>🦙</b> {1}"}},
        "thinks and says": {"answer": {"reasoning_content": "A guest?\nLet us see.", "content": "Come in."}},
        "calls": {"answer": {"tool_calls": [
            {"name": "get_weather", "arguments": {"city": "Köln", "days": 2}}
        ]}},
        "calls with a list": {"answer": {"tool_calls": [
            {"name": "get_weather", "arguments": {"city": "Köln", "exact": true, "hours": [6, 18]}}
        ]}},
        "thinks and calls": {"answer": {"reasoning_content": "I had better look.", "tool_calls": [
            {"name": "get_weather", "arguments": {"city": "Paris"}}
        ]}},
        "says and calls": {"answer": {"content": "I look.", "tool_calls": [
            {"name": "get_weather", "arguments": {"city": "Paris", "days": 0}}
        ]}},
        "calls without arguments": {"answer": {"tool_calls": [{"name": "open_gate", "arguments": {}}]}},
        "calls with odd letters": {"answer": {"tool_calls": [
            {"name": "get_weather", "arguments": {"city": "\"O'Hare\"\t\\ {x: [1]} <b>&amp;\n 雨 🦙 ,"}}
        ]}},
        "calls twice": {"answer": {"tool_calls": [
            {"name": "get_weather", "arguments": {"city": "Paris"}}, {"name": "open_gate", "arguments": {}}
        ]}}
    })");
    return all;
}

std::string text_of(const std::vector<sotto::llama::PromptPart>& parts, bool marked) {
    std::string text;
    for (const auto& part : parts) {
        text += part.from_template || !marked ? part.text : "⟦" + part.text + "⟧";
    }
    return text;
}

std::string without_date(std::string text) {
    const auto now = std::time(nullptr);
    for (const char* form : {"%Y-%m-%d", "%B %d, %Y", "%d %b %Y", "%b %d %Y", "%d %B %Y"}) {
        std::array<char, 64> date;
        date[std::strftime(date.data(), date.size(), form, std::localtime(&now))] = 0;
        replace_all(text, date.data(), "{today}");
    }
    return text;
}

} // namespace golden
