// A cached answer format equals a newly detected one.
#include "golden_template.hpp"

#include <doctest/doctest.h>

using namespace golden;

namespace {

// A sequence of requests, each of which differs from an earlier one in one property.
std::vector<Json> requests() {
    const auto schema = [](const char* member) {
        return Json{
            {"type", "object"},
            {"properties", {{member, {{"type", "number"}, {"minimum", 3}, {"maximum", 7.5}}}}},
            {"required", {member}},
            {"additionalProperties", false},
        };
    };
    const Json plain = conversations().at("system and user");
    std::vector<Json> all = {plain, conversations().at("turns"), conversations().at("thinking off")};
    const auto add = [&](const Json& base, const Json& more) {
        all.push_back(base);
        all.back().update(more);
    };
    add(plain, {{"reasoning_format", "none"}});
    add(plain, {{"json_schema", schema("gold")}});
    add(plain, {{"json_schema", schema("iron")}});
    add(plain, {{"tools", tools()}});
    add(conversations().at("turns"), {{"tools", tools()}, {"parallel_tool_calls", false}});
    add(plain, {{"tools", tools()}, {"tool_choice", "required"}});
    return all;
}

std::string marked(const char* name, const std::vector<std::string>& texts) {
    return std::string(name) + ": " + Json(texts).dump() + "\n";
}

#ifdef __SANITIZE_ADDRESS__
// sanitizers are ten times slower, and the code is the same for all templates
constexpr std::size_t kEach = 6;
#else
constexpr std::size_t kEach = 1;
#endif

// Everything that constrains and parses the answer to a request.
std::string form_of(const sotto::llama::Chat& chat, const Json& body) {
    try {
        const auto prompt = chat.prompt(body);
        const auto& how = prompt.how;
        std::string all = without_date(text_of(prompt.parts, true)) + "\n";
        all += "begun: " + how.generation_prompt + "\nthought: " + how.thinking_start_tag + "\n";
        all += marked("thought's end", how.thinking_end_tags) + marked("kept", how.preserved_tokens);
        all += marked("stops", how.additional_stops);
        for (const auto& trigger : how.grammar_triggers) {
            all += "trigger " + std::to_string(trigger.type) + ": " + trigger.value + "\n";
        }
        all += std::string(prompt.parser ? "read" : "as it is") + (how.grammar_lazy ? ", lazily" : "");
        return all + "\nas " + std::to_string(how.format) + ": " + how.parser + "\n" + how.grammar;
    } catch (const sotto::llama::Error& error) {
        return std::string("! ") + error.what();
    }
}

} // namespace

TEST_CASE("the cached format of a chat template equals a newly detected one") {
    const auto asked = requests();
    std::size_t number = 0;
    for (const auto& path : template_files()) {
        if (number++ % kEach != 0) {
            continue;
        }
        CAPTURE(path.stem().string());
        const Template model(path);
        std::vector<std::string> first;
        for (const auto& body : asked) {
            first.push_back(form_of(model.chat, body));
        }
        for (std::size_t i = 0; i < asked.size(); ++i) {
            CAPTURE(asked[i].dump());
            const sotto::llama::Constraints none(model.vocabulary.vocab());
            const sotto::llama::Chat fresh(
                model.vocabulary.model(), model.vocabulary.tokenizer(), none, model.source
            );
            const auto wanted = form_of(fresh, asked[i]);
            CHECK((first[i] == wanted));
            CHECK((form_of(model.chat, asked[i]) == wanted));
        }
    }
}
