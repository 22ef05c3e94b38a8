// Requests prepared on other threads while the model steps give the same answers.
#include "module_under_test.hpp"

#include <atomic>
#include <doctest/doctest.h>
#include <thread>

using namespace under_test;

namespace {

constexpr std::uint32_t kTokens = 16;
const char* const kSchema =
    R"("temperature": 0, "response_format": {"type": "json_schema", "json_schema": {"schema":
       {"type": "object", "properties": {"a": {"enum": ["king", "moon"]}}, "required": ["a"]}}})";

// A conversation of `turns` turns and a question.
std::string conversation(std::size_t turns, const std::string& more = R"("temperature": 0)") {
    std::string body = R"({"messages": [{"role": "system", "content": "gold"}, )";
    for (std::size_t i = 0; i < turns; ++i) {
        body += R"({"role": "user", "content": "the king )" + std::to_string(i) +
                R"( of the river"}, {"role": "assistant", "content": "moon"}, )";
    }
    return body + R"({"role": "user", "content": "who"}], )" + more + "}";
}

std::string answer(Model& model, const std::string& body, void* prepared = nullptr) {
    Stream stream(model, body, SOTTO_OP_CHAT, SOTTO_STREAM_ALONE, prepared);
    REQUIRE_MESSAGE(stream.handle != nullptr, stream.answer.why);
    return stream.run(kTokens).text;
}

} // namespace

TEST_CASE("a prepared request gives the same answer as one that was not prepared") {
    Model model;
    for (const auto& body : {chat("who is the king"), chat("a moon", kSchema), conversation(3000)}) {
        const auto ready = prepare(model, body);
        REQUIRE_MESSAGE(ready.handle != nullptr, ready.why);
        CHECK(answer(model, body, ready.handle) == answer(model, body));
    }
    const auto tokens = prepare(model, R"({"content": "who"})", SOTTO_OP_TOKENIZE);
    CHECK(tokens.handle == nullptr);
    CHECK(tokens.result.find("tokens") != std::string::npos);
    const auto wrong = prepare(model, R"({"prompt": [70000]})", SOTTO_OP_COMPLETION);
    CHECK(wrong.status == SOTTO_ERROR_ARGUMENT);
    CHECK(wrong.why.find("invalid prompt[0] '70000'") != std::string::npos);
}

TEST_CASE("several threads prepare requests while the model steps") {
    Model model;
    const auto expected = answer(model, conversation(40));
    std::atomic<bool> stops{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&, i] {
            for (std::size_t turns = 1; !stops; turns = turns % 60 + 1) {
                const auto body = conversation(turns, i == 0 ? kSchema : R"("temperature": 0)");
                const auto ready = prepare(model, body);
                CHECK_MESSAGE(ready.handle != nullptr, ready.why);
                backend().prepared_close(backend().self, model.handle, ready.handle);
            }
        });
    }
    for (int i = 0; i < 10; ++i) {
        CHECK(answer(model, conversation(40)) == expected);
    }
    stops = true;
    for (auto& thread : threads) {
        thread.join();
    }
}

TEST_CASE("a cancelled preparation ends soon") {
    Model model;
    std::string tokens = "1";
    for (int i = 0; i < 20'000; ++i) {
        tokens += ", 1";
    }
    for (const auto& [body, op] :
         {std::pair(conversation(20'000), SOTTO_OP_CHAT),
          std::pair(R"({"tokens": [)" + tokens + "]}", SOTTO_OP_DETOKENIZE)}) {
        int asked = 0;
        const auto ready = prepare(model, body, op, [&] { return ++asked > 1; });
        CHECK(ready.status == SOTTO_ERROR_CANCELLED);
        CHECK(ready.handle == nullptr);
        CHECK(asked == 2);
    }
}

TEST_CASE("a cancelled preparation ends soon, even inside a chat template") {
    // Each rendering takes most of the step limit.
    const std::string slow = "{% set r = range(1000) %}{% for a in r %}{% for b in r[:100] %}{% endfor %}"
                             "{% endfor %}";
    const std::string source = "{% if messages[0].content == 'now' %}" + slow +
                               "{% endif %}{% for m in messages %}{{ m.content }}{% endfor %}";
    Model model({.options = R"({"chat_template": ")" + source + "\"}"});
    REQUIRE_MESSAGE(model, model.why);
    for (const auto op : {SOTTO_OP_CHAT, SOTTO_OP_APPLY_TEMPLATE}) {
        for (const int stop : {3, 100}) {
            int asked = 0;
            const auto ready = prepare(model, chat("now"), op, [&] { return ++asked >= stop; });
            CHECK(ready.status == SOTTO_ERROR_CANCELLED);
            CHECK(asked == stop);
        }
        const auto quick = prepare(model, chat("then"), op);
        CHECK_MESSAGE(quick.status == SOTTO_OK, quick.why);
        backend().prepared_close(backend().self, model.handle, quick.handle);
    }
}

TEST_CASE("a model does not load with a template that does not parse, and the error tells the place") {
    const std::string long_one(60, 'x'); // longer than what llama.cpp shows of the source
    const std::pair<std::string, const char*> templates[] = {
        {"{% for m in messages %}{{ m.content", "Expected }} before the end of the text; "},
        {"{{ 1 // 0 }}", "Unexpected token: /"},
        {"{{ 'a' }}\\n{{ 'b' }}\\n  {{ ` }}", "line 3, column 6: unexpected character: `; "},
        {long_one + "\\n" + long_one + "{{ ` }}", "line 2, column 64: "},
        {long_one + "\\r\\n" + long_one + "{# no end", "line 2, column "},
    };
    for (const auto& [source, reason] : templates) {
        const Model model({.options = R"({"chat_template": ")" + source + "\"}"});
        CHECK(model.status == SOTTO_ERROR_ARGUMENT);
        CHECK_MESSAGE(model.why.find("invalid options.chat_template: ") == 0, model.why);
        CHECK_MESSAGE(model.why.find(reason) != std::string::npos, model.why);
        CHECK_MESSAGE(model.why.find("; correct the Jinja text") != std::string::npos, model.why);
        CHECK_MESSAGE(model.why.find('\n') == std::string::npos, model.why);
    }
}

TEST_CASE("the last of several members with one name wins, in small and large objects") {
    Model model;
    for (const int others : {3, 300}) {
        std::string more;
        for (int i = 0; i < others; ++i) {
            more += "\"f" + std::to_string(i) + R"(": {"x": [1, {}], "x": 2}, )";
        }
        const auto body = R"({"content": "who", )" + more + R"("content": "the king of gold"})";
        const auto once = prepare(model, R"({"content": "the king of gold"})", SOTTO_OP_TOKENIZE);
        CHECK(prepare(model, body, SOTTO_OP_TOKENIZE).result == once.result);
    }
}
