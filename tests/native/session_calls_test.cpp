// The typed functions of sotto/session.h, and sotto/json.h.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/session.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

sotto_session_desc session(std::string_view id, std::string_view system = {}) {
    auto desc = SOTTO_INIT(sotto_session_desc);
    desc.id = str(id);
    desc.model = str("npc");
    desc.system = str(system);
    return desc;
}

sotto_request open(Game& game, const sotto_session_desc& desc) {
    sotto_request request = 0;
    REQUIRE_MESSAGE(sotto_engine_open_session(game.engine(), &desc, &request) == SOTTO_OK, last_error());
    return request;
}

sotto_say_desc line(std::string_view id, std::string_view text) {
    auto desc = SOTTO_INIT(sotto_say_desc);
    desc.session = str(id);
    desc.text = str(text);
    return desc;
}

sotto_request say(Game& game, const sotto_say_desc& desc) {
    sotto_request request = 0;
    REQUIRE_MESSAGE(sotto_engine_say(game.engine(), &desc, &request) == SOTTO_OK, last_error());
    return request;
}

// The messages of a session.
Json messages(Game& game, std::string_view id) {
    sotto_request request = 0;
    REQUIRE(sotto_engine_read_session(game.engine(), str(id), 0, &request) == SOTTO_OK);
    const auto last = done(game.finish(request));
    REQUIRE_MESSAGE(last.status == SOTTO_OK, last.error);
    return Json::parse(last.json)["messages"];
}

const std::string kOdd = "a \"b\"\\\t\x01 \xC3\xA9 \xF0\x9F\x8F\xB0";

} // namespace

TEST_CASE("a session is opened, spoken to, read and closed without JSON") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc");
    auto desc = session("mara", kOdd);
    desc.user = 7;
    const auto opening = open(game, desc);
    auto said_first = line("mara", kOdd);
    said_first.user = 9;
    const auto first = say(game, said_first); // refused at once
    CHECK(done(game.finish(opening)).user == 7);
    CHECK(game.of(opening).size() == 1);
    CHECK(done(game.finish(first)).user == 9);
    CHECK(given(backend) == Lines{"system: " + kOdd, "user: " + kOdd});
    CHECK(messages(game, "mara").size() == 3);
    sotto_request request = 0;
    REQUIRE(sotto_engine_close_session(game.engine(), str("mara"), 0, &request) == SOTTO_OK);
    CHECK(done(game.finish(request)).status == SOTTO_OK);
    REQUIRE(sotto_engine_close_session(game.engine(), str("mara"), 0, &request) == SOTTO_OK);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("without an out-parameter for the request id, the event still arrives") {
    Game game;
    const auto desc = session("mara");
    REQUIRE(sotto_engine_open_session(game.engine(), &desc, nullptr) == SOTTO_OK);
    REQUIRE(sotto_engine_close_session(game.engine(), str("mara"), 0, nullptr) == SOTTO_OK);
    REQUIRE(game.until([&] { return game.all().size() == 2; }));
    CHECK(game.all()[0].status == SOTTO_OK);
    CHECK(game.all()[1].status == SOTTO_OK);
}

TEST_CASE("a session can be restored from what was read") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc");
    open(game, session("mara", "be kind"));
    game.finish(say(game, line("mara", "one")));
    const auto kept = sotto::to_text(messages(game, "mara"));
    auto loaded = session("again");
    loaded.messages = str(kept);
    open(game, loaded);
    game.finish(say(game, line("again", "two")));
    CHECK(given(backend) == Lines{"system: be kind", "user: one", "assistant: one", "user: two"});
}

TEST_CASE("a fork starts as a copy, optionally with fewer messages or another system message") {
    Game game;
    game.have("npc");
    open(game, session("mara", "be kind"));
    game.finish(say(game, line("mara", "one")));
    auto fork = session("fork", "be gruff");
    fork.model = {};
    fork.from = str("mara");
    open(game, fork);
    auto found = messages(game, "fork");
    REQUIRE(found.size() == 3);
    CHECK(found[0]["content"] == "be gruff");
    CHECK(found[1]["content"] == "one");
    CHECK(messages(game, "mara")[0]["content"] == "be kind");
    fork.id = str("short");
    fork.keep = 1;
    fork.system = {};
    open(game, fork);
    found = messages(game, "short");
    REQUIRE(found.size() == 1);
    CHECK(found[0]["content"] == "be kind");
    fork.from = str("nobody");
    fork.id = str("other");
    CHECK(done(game.finish(open(game, fork))).status == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("the system message can be changed during the life of a session") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc");
    open(game, session("mara"));
    game.finish(say(game, line("mara", "one")));
    const auto set = [&](std::string_view text) {
        sotto_request request = 0;
        REQUIRE(
            sotto_engine_set_session_system(game.engine(), str("mara"), str(text), 0, &request) == SOTTO_OK
        );
        const auto last = done(game.finish(request));
        REQUIRE_MESSAGE(last.status == SOTTO_OK, last.error);
        return Json::parse(last.json)["messages"].get<int>();
    };
    CHECK(set("the gate is shut") == 3); // it had no system message before
    CHECK(set("the gate is open") == 3);
    game.finish(say(game, line("mara", "two")));
    CHECK(given(backend) == Lines{"system: the gate is open", "user: one", "assistant: one", "user: two"});
    CHECK(set("") == 4);
    CHECK(set("") == 4);
    game.finish(say(game, line("mara", "three")));
    CHECK(given(backend).front() == "user: one");
    CHECK(messages(game, "mara").size() == 6);
}

TEST_CASE("changing the system message during an answer leaves that turn intact") {
    Game game;
    game.have("npc", R"({"tokens": ["a", "b", "c"], "token_ms": 20})");
    open(game, session("mara", "be kind"));
    const auto answer = say(game, line("mara", "one"));
    game.until_told(answer, SOTTO_EVENT_TEXT);
    REQUIRE(
        sotto_engine_set_session_system(game.engine(), str("mara"), str("be gruff"), 0, nullptr) == SOTTO_OK
    );
    CHECK(done(game.finish(answer)).status == SOTTO_OK);
    const auto found = messages(game, "mara");
    REQUIRE(found.size() == 3);
    CHECK(found[0]["content"] == "be gruff");
    CHECK(found[1]["content"] == "one");
    CHECK(found[2]["content"] == "abc");
}

TEST_CASE("a developer message is a system message") {
    Game game;
    auto desc = session("mara");
    desc.messages =
        str(R"([{"role": "developer", "content": "be kind"}, {"role": "user", "content": "hi"}])");
    desc.system = str("be gruff");
    open(game, desc);
    const auto found = messages(game, "mara");
    REQUIRE(found.size() == 3); // `system` precedes the host's messages
    CHECK(found[0]["content"] == "be gruff");
}

TEST_CASE("fields of a turn reach the request; the library's own come before the host's") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc");
    open(game, session("mara"));
    auto desc = line("mara", "one two three");
    desc.fields = str(R"( {"temperature": 0.5, "session": "other", "messages": [], "max_tokens": 1} )");
    desc.max_tokens = 2;
    CHECK(said(game.finish(say(game, desc))) == "one two");
    CHECK(Json::parse(backend.bodies().back())["temperature"] == 0.5);
    desc.fields = str(" { } ");
    desc.text = {};
    CHECK(done(game.finish(say(game, desc))).status == SOTTO_OK); // no new message
    CHECK(messages(game, "mara").size() == 3);
}

TEST_CASE("errors are returned at once where possible, otherwise by the last event") {
    Game game;
    game.have("npc");
    sotto_request request = 5;
    auto desc = session("mara");
    const auto refused = [&](const char* why) {
        CHECK(sotto_engine_open_session(game.engine(), &desc, &request) == SOTTO_ERROR_ARGUMENT);
        CHECK(request == 0);
        CHECK_MESSAGE(last_error().find(why) != std::string::npos, last_error());
    };
    desc.id = {};
    refused("missing desc->id: expected a string that is not empty");
    desc.id = str("\xFF");
    refused("desc->id");
    desc = session("mara");
    for (const std::string_view bad : {"{}", "[", "]", "hello", "[}"}) {
        desc.messages = str(bad);
        refused("invalid desc->messages");
    }
    const std::string long_id(129, 'x');
    desc = session(long_id);
    CHECK(done(game.finish(open(game, desc))).status == SOTTO_ERROR_ARGUMENT);
    desc = session("mara");
    desc.messages = str("[1, 2]");
    CHECK(done(game.finish(open(game, desc))).error.find("messages[0]") != std::string::npos);
    CHECK(sotto_engine_open_session(game.engine(), nullptr, &request) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_engine_open_session(nullptr, &desc, &request) == SOTTO_ERROR_ARGUMENT);
    desc = session("mara");
    desc.flags = SOTTO_REQUEST_PRIVATE;
    CHECK(sotto_engine_open_session(game.engine(), &desc, nullptr) == SOTTO_ERROR_ARGUMENT);
    auto turn = line("mara", "hi");
    for (const std::string_view bad :
         {"[]", "{", "x", "{]", R"({"a": 1}, {"b": 2})", R"({"a": 1}})", "{a: 1}"}) {
        turn.fields = str(bad);
        CHECK(sotto_engine_say(game.engine(), &turn, &request) == SOTTO_ERROR_ARGUMENT);
        CHECK(last_error().find("invalid desc->fields") == 0);
    }
    CHECK(sotto_engine_say(game.engine(), &turn, nullptr) == SOTTO_ERROR_ARGUMENT);
    turn.fields = str(R"({"max_token": 3})");
    CHECK(done(game.finish(say(game, turn))).error.find("max_tokens") != std::string::npos);
    turn.fields = {};
    CHECK(done(game.finish(say(game, turn))).status == SOTTO_ERROR_NOT_FOUND); // no such session
    CHECK(sotto_engine_pin_session(game.engine(), {}, 1, 0, &request) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_engine_pin_session(game.engine(), str("mara"), 1, 64, &request) == SOTTO_ERROR_UNSUPPORTED);
}

TEST_CASE("the last turns are taken back") {
    Game game;
    game.have("npc");
    open(game, session("mara", "be kind"));
    for (const char* text : {"one", "two", "three"}) {
        game.finish(say(game, line("mara", text)));
    }
    const auto rewind = [&](std::uint32_t turns) {
        sotto_request request = 0;
        REQUIRE(sotto_engine_rewind_session(game.engine(), str("mara"), turns, 0, &request) == SOTTO_OK);
        return done(game.finish(request));
    };
    CHECK(Json::parse(rewind(0).json)["messages"] == 5); // 0: one turn
    CHECK(Json::parse(rewind(2).json)["messages"] == 1);
    CHECK(rewind(1).status == SOTTO_ERROR_ARGUMENT);
    CHECK(messages(game, "mara").size() == 1);
    sotto_request request = 0;
    CHECK(sotto_engine_rewind_session(game.engine(), {}, 1, 0, &request) == SOTTO_ERROR_ARGUMENT);
    CHECK(
        sotto_engine_rewind_session(game.engine(), str("mara"), 1, 64, &request) == SOTTO_ERROR_UNSUPPORTED
    );
}

TEST_CASE("sessions are pinned and listed") {
    Game game;
    game.have("npc", R"({"streams": 2})");
    open(game, session("mara"));
    open(game, session("odo"));
    const auto pin = [&](std::string_view id, int pinned) {
        sotto_request request = 0;
        REQUIRE(sotto_engine_pin_session(game.engine(), str(id), pinned, 0, &request) == SOTTO_OK);
        return done(game.finish(request)).status;
    };
    CHECK(pin("mara", 1) == SOTTO_OK);
    CHECK(pin("odo", 1) == SOTTO_ERROR_BUDGET); // one slot stays free
    CHECK(pin("mara", 0) == SOTTO_OK);
    CHECK(pin("odo", 1) == SOTTO_OK);
    sotto_request request = 0;
    REQUIRE(sotto_engine_read_session(game.engine(), {}, SOTTO_REQUEST_PRIVATE, &request) == SOTTO_OK);
    const auto listed = Json::parse(done(game.finish_private(request)).json)["data"];
    REQUIRE(listed.size() == 2);
    CHECK(listed[1]["session"] == "odo");
    CHECK(listed[1]["pinned"] == true);
}

TEST_CASE("text is quoted as JSON in the caller's memory") {
    for (const std::string& text : {std::string(), kOdd, std::string("\0 nul", 5), std::string(1000, '"')}) {
        std::string buffer(6 * text.size() + 3, 'x');
        std::size_t size = 0;
        REQUIRE(sotto_json_quote(str(text), buffer.data(), buffer.size(), &size) == SOTTO_OK);
        CHECK(buffer[size] == '\0');
        CHECK(Json::parse(buffer.substr(0, size)).get<std::string>() == text);
        REQUIRE(sotto_json_quote(str(text), buffer.data(), size + 1, nullptr) == SOTTO_OK);
        CHECK(sotto_json_quote(str(text), buffer.data(), size, nullptr) == SOTTO_ERROR_ARGUMENT);
        CHECK(buffer[0] == '\0');
        std::size_t needed = 0;
        CHECK(sotto_json_quote(str(text), nullptr, 0, &needed) == SOTTO_ERROR_ARGUMENT);
        CHECK(needed == size);
    }
    CHECK(sotto_json_quote(str("a"), nullptr, 4, nullptr) == SOTTO_ERROR_ARGUMENT);
    char buffer[8] = "";
    CHECK(sotto_json_quote(str("\xFF"), buffer, sizeof buffer, nullptr) == SOTTO_ERROR_ARGUMENT);
}

TEST_CASE("a JSON field can be read from an answer truncated at any point") {
    const std::string text = "Stay \"a\\while\", \xC3\xA9\xE5\xA4\x9C\xF0\x9F\x8F\xB0\n!";
    const Json whole = {{"first", {{"say", "not this"}, {"list", {"say", 1}}}}, {"say", text}, {"z", "}"}};
    for (const bool ascii : {false, true}) {
        const auto json = whole.dump(ascii ? 2 : -1, ' ', ascii);
        std::string last;
        bool was_complete = false;
        for (std::size_t cut = 0; cut <= json.size(); ++cut) {
            sotto_str value{};
            std::int32_t complete = -1;
            REQUIRE(
                sotto_json_field(str(std::string_view(json).substr(0, cut)), str("say"), &value, &complete) ==
                SOTTO_OK
            );
            const auto now = text_of(value);
            CHECK(now.starts_with(last));
            CHECK(text.starts_with(now));
            CHECK((complete != 0) >= was_complete);
            CHECK((complete == 0 || now == text));
            last = now;
            was_complete = complete != 0;
        }
        CHECK(was_complete);
    }
}

TEST_CASE("a field that is absent or not text is empty") {
    sotto_str other{};
    std::int32_t all = 0;
    const auto* whole = R"({"say": [{"a": "b"}, 3], "n": 3.5})";
    REQUIRE(sotto_json_field(str(whole), str("say"), &other, &all) == SOTTO_OK);
    CHECK(text_of(other) == R"([{"a":"b"},3])"); // once the object is complete
    CHECK(all == 1);
    for (const std::string_view json :
         {"",
          "{",
          "[\"say\"]",
          "\"say\"",
          R"({"say": 3)",
          R"({"say": {"say": "x"})",
          R"({"say": ["x"])",
          R"({"a": {"say": "x"}})",
          R"({"a": "say", "b": "x"})",
          R"(nonsense {"say": "x"})",
          R"({"say": null})"}) {
        sotto_str value{};
        std::int32_t complete = -1;
        REQUIRE(sotto_json_field(str(json), str("say"), &value, &complete) == SOTTO_OK);
        CHECK_MESSAGE(value.size == 0, json);
        CHECK(complete == 0);
    }
    CHECK(sotto_json_field(str("{}"), str("say"), nullptr, nullptr) == SOTTO_ERROR_ARGUMENT);
}
