// The prefix cache on each type of KV cache: it saves prefill and changes no answer.
#include "module_under_test.hpp"

#include <doctest/doctest.h>
#include <random>

using namespace under_test;

namespace {

constexpr std::uint32_t kTokens = 20;

struct Kind {
    std::string file;
    bool can_be_cut; // false: it can only be extended
};
const Kind kKinds[] = {
    {"tiny.gguf", true},
    {"tiny-bytes.gguf", true},
    {"tiny-window.gguf", true},
    {"tiny-recurrent.gguf", false},
    {"tiny-hybrid.gguf", false},
};
// One slot, so that it is the one chosen; small batches, so that a prompt needs several.
const char* const kOne = R"({"parallel": 1, "batch": 32})";

const char* const kTurns[] = {
    "who is the king of the river",
    "where was the gold",
    "what is the song of the moon",
    "the queen and a sword"
};

// JSON string without characters that need escapes: random weights generate any bytes.
std::string quoted(const std::string& text) {
    std::string made = "\"";
    for (const char c : text) {
        made += c >= ' ' && c <= '~' && c != '"' && c != '\\' ? std::string(1, c) : "";
    }
    return made + '"';
}

// A conversation as a request body.
struct Talk {
    std::string messages;

    void add(const char* role, const std::string& content) {
        messages += messages.empty() ? "" : ", ";
        messages += R"({"role": ")" + std::string(role) + R"(", "content": )" + quoted(content) + "}";
    }
    std::string body() const { return R"({"messages": [)" + messages + R"(], "temperature": 0})"; }
};

Answer ask(Model& model, const std::string& body, sotto_op op = SOTTO_OP_CHAT) {
    Stream stream(model, body, op);
    stream.run(kTokens, 32);
    CHECK_MESSAGE(stream.answer.status == SOTTO_OK, stream.answer.why);
    return stream.answer;
}

Answer ask_fresh(const Kind& kind, const std::string& body, sotto_op op = SOTTO_OP_CHAT) {
    Model model({.path = tiny(kind.file.c_str()), .options = kOne});
    REQUIRE_MESSAGE(model, model.why);
    auto answer = ask(model, body, op);
    CHECK(answer.cached_tokens == 0);
    return answer;
}

std::string words(std::size_t count, const std::string& last = "") {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += i % 3 == 0 ? "the king " : i % 3 == 1 ? "of gold " : "where river ";
    }
    return text + last;
}

// Prefills a prompt except its last token, and closes the stream.
std::uint32_t prepare(Model& model, const std::string& prompt) {
    Stream stream(model, completion(prompt), SOTTO_OP_COMPLETION);
    const auto most = stream.answer.prompt_tokens - 1;
    for (std::uint32_t done = stream.answer.cached_tokens; done < most; done += stream.work.evaluated) {
        REQUIRE(stream.step(std::min(32u, most - done)) == SOTTO_OK);
    }
    return most;
}

} // namespace

TEST_CASE("a conversation sent turn by turn gets the answer of one sent at once") {
    for (const auto& kind : kKinds) {
        CAPTURE(kind.file);
        Model model({.path = tiny(kind.file.c_str()), .options = kOne});
        REQUIRE_MESSAGE(model, model.why);
        Talk talk;
        std::uint32_t reused = 0;
        for (const char* turn : kTurns) {
            talk.add("user", turn);
            const auto answer = ask(model, talk.body());
            CHECK(!answer.text.empty());
            CHECK(answer.text == ask_fresh(kind, talk.body()).text);
            reused += answer.cached_tokens;
            talk.add("assistant", answer.text);
        }
        CHECK((reused > 0 || !kind.can_be_cut));
    }
}

TEST_CASE("models of every kind continue from their cache without prefilling again") {
    for (const auto& kind : kKinds) {
        CAPTURE(kind.file);
        Model model({.path = tiny(kind.file.c_str()), .options = kOne});
        REQUIRE_MESSAGE(model, model.why);
        for (std::size_t count = 20; count <= 60; count += 20) {
            const auto held = prepare(model, words(count));
            const auto body = completion(words(count + 10));
            Stream next(model, body, SOTTO_OP_COMPLETION);
            CHECK(next.answer.cached_tokens == held);
            CHECK(next.run(kTokens, 32).text == ask_fresh(kind, body, SOTTO_OP_COMPLETION).text);
            next.close();
            prepare(model, "who"); // so that the next round starts with another prefix
        }
    }
}

TEST_CASE("a request that diverges from the cached prefix is answered as without a cache") {
    for (const auto& kind : kKinds) {
        CAPTURE(kind.file);
        Model model({.path = tiny(kind.file.c_str()), .options = kOne});
        REQUIRE_MESSAGE(model, model.why);
        const auto all = ask(model, completion(words(60)), SOTTO_OP_COMPLETION).prompt_tokens;
        REQUIRE(all > 100);
        for (const std::size_t common : {55, 50, 40}) { // words of common prefix, fewer each time
            CAPTURE(common);
            const auto body = completion(words(common, "the moon is a song"));
            const auto answer = ask(model, body, SOTTO_OP_COMPLETION);
            CHECK(answer.text == ask_fresh(kind, body, SOTTO_OP_COMPLETION).text);
            CHECK((answer.cached_tokens > all / 2) == kind.can_be_cut);
            CHECK((kind.can_be_cut || answer.cached_tokens == 0));
        }
    }
}

TEST_CASE("a sliding-window cache is truncated far behind its current position") {
    const Kind kind = {"tiny-window.gguf", true};
    Model model({.path = tiny(kind.file.c_str()), .options = kOne});
    REQUIRE_MESSAGE(model, model.why);
    const auto all = ask(model, completion(words(220)), SOTTO_OP_COMPLETION).prompt_tokens;
    REQUIRE(all > 400); // more cells than a sliding-window cache has, 256
    for (const std::size_t common : {210, 90, 30}) {
        const auto body = completion(words(common, "the moon"));
        const auto answer = ask(model, body, SOTTO_OP_COMPLETION);
        CHECK(answer.cached_tokens >= 2 * common);
        CHECK(answer.text == ask_fresh(kind, body, SOTTO_OP_COMPLETION).text);
    }
}

TEST_CASE("cancelling a step in a long conversation changes no answer") {
    for (const auto& kind : kKinds) {
        CAPTURE(kind.file);
        const auto body = completion(words(60));
        const auto undisturbed = ask_fresh(kind, body, SOTTO_OP_COMPLETION).text;
        Model model({.path = tiny(kind.file.c_str()), .options = kOne});
        Stream stream(model, body, SOTTO_OP_COMPLETION);
        int stops = 0;
        for (int round = 0; stream.answer.tokens < kTokens && stream.answer.finish == SOTTO_FINISH_NONE;
             ++round) {
            int asked = 0;
            const int after = round * 5 % 30;
            const auto status = stream.step(32, [&] { return round % 7 == 3 && asked++ == after; });
            stops += status == SOTTO_ERROR_CANCELLED;
            REQUIRE((status == SOTTO_OK || status == SOTTO_ERROR_CANCELLED));
            REQUIRE(round < 1000);
        }
        CHECK(stops > 3);
        CHECK(stream.answer.text == undisturbed);
        stream.close();
        CHECK(ask(model, body, SOTTO_OP_COMPLETION).text == undisturbed); // the cache is consistent
    }
}

TEST_CASE("two streams of one model have separate caches") {
    for (const auto& kind : kKinds) {
        CAPTURE(kind.file);
        Model model({.path = tiny(kind.file.c_str()), .options = R"({"parallel": 2, "batch": 32})"});
        REQUIRE_MESSAGE(model, model.why);
        const auto one = completion(words(30));
        const auto other = completion("who was " + words(30));
        for (int round = 0; round < 2; ++round) { // the second round has cached prompts, if the model can
            Stream first(model, one, SOTTO_OP_COMPLETION);
            Stream second(model, other, SOTTO_OP_COMPLETION);
            for (int i = 0; i < 200 && (first.answer.tokens < 8 || second.answer.tokens < 8); ++i) {
                REQUIRE(first.step(16) == SOTTO_OK);
                REQUIRE(second.step(16) == SOTTO_OK);
            }
            CHECK(ask_fresh(kind, one, SOTTO_OP_COMPLETION).text.starts_with(first.answer.text.substr(0, 4)));
            CHECK(
                ask_fresh(kind, other, SOTTO_OP_COMPLETION).text.starts_with(second.answer.text.substr(0, 4))
            );
            CHECK((round == 0 || !kind.can_be_cut || second.answer.cached_tokens > 50));
        }
    }
}

TEST_CASE("after any sequence of caching and truncation, the answer equals that of a new model") {
    for (const auto& kind : kKinds) {
        CAPTURE(kind.file);
        const bool long_words = kind.file == "tiny-bytes.gguf"; // fewer tokens of these fit
        std::mt19937 random(7);
        Model model({.path = tiny(kind.file.c_str()), .options = kOne});
        REQUIRE_MESSAGE(model, model.why);
        std::uint32_t reused = 0;
        for (int round = 0; round < 24; ++round) {
            CAPTURE(round);
            const char* const ends[] = {"the moon", "a song of the queen", "", "who is in the night"};
            const auto count = 20 + random() % (long_words ? 30 : 200);
            const auto body = completion(words(count, ends[random() % 4]));
            const auto answer = ask(model, body, SOTTO_OP_COMPLETION);
            REQUIRE(answer.text == ask_fresh(kind, body, SOTTO_OP_COMPLETION).text);
            reused += answer.cached_tokens;
        }
        CHECK((reused > 0 || !kind.can_be_cut));
    }
}
