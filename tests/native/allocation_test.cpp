// Fails (nearly) each allocation in turn: each request ends, and the engine continues.
#include <filesystem>
#include <string>

#include <unistd.h>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "core/session/sessions.hpp"
#include "support/game.hpp"
#include "support/short_of_memory.hpp"

using namespace test;

namespace {

// An answer with reasoning, content and a tool call.
const char* const kScript =
    R"({"weights": 5, "constrainable": true, "slots": true, "token_ids": true, "tokens": ["one", "two", "three"], "logprobs": true,
    "stops": ["<the end of an answer>"], "fingerprint": "{\"model\": \"the one of this test\"}", "deltas": [
    [{"reasoning_content": "a long thought that needs memory"}],
    [{"content": "a long sentence that needs memory"}],
    [{"tool_calls": [{"index": 0, "id": "the first call of all", "function": {"name": "a_long_name_of_a_tool",
        "arguments": "{\"argument\": \"a long one\"}"}}]}]]})";

// the message occurs twice
const std::string kSaid = "a long sentence that needs memorya long sentence that needs memory";

const std::string& state_path() {
    static const auto path =
        (std::filesystem::temp_directory_path() / ("sotto_allocation_test_" + std::to_string(getpid())))
            .string();
    return path;
}

sotto_status
ask(sotto_engine* engine, std::string& text, sotto_op op, std::string_view more, sotto_request_flags flags) {
    const auto body = chat("npc", "a question that is too long to be kept in place", more);
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = op;
    desc.body = str(body);
    desc.flags = flags | SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    const auto submitted = call([&] { return sotto_engine_submit(engine, &desc, &request); });
    return outcome(engine, submitted, request, text);
}

sotto_status say(sotto_engine* engine, sotto_str session, sotto_request_flags flags) {
    auto line = SOTTO_INIT(sotto_say_desc);
    line.session = session;
    line.text = str("a line that is too long to be kept in place");
    line.fields = str(R"({"temperature": 0.5, "model": "npc"})");
    line.flags = flags | SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    std::string nothing;
    const auto submitted = call([&] { return sotto_engine_say(engine, &line, &request); });
    return outcome(engine, submitted, request, nothing);
}

// Two turns in a session.
sotto_status talk(sotto_engine* engine, sotto_request_flags flags) {
    const auto mara = R"(, "session": "the session of this test")";
    std::string nothing;
    // the failed allocation may have been in close
    ask(engine, nothing, SOTTO_OP_CLOSE_SESSION, mara, flags);
    const auto opened = ask(engine, nothing, SOTTO_OP_OPEN_SESSION, mara, flags);
    const auto id = str("the session of this test");
    sotto_request changing = 0;
    const auto submitted = call([&] {
        const auto sheet = str("a system message that is too long to be kept in place");
        return sotto_engine_set_session_system(engine, id, sheet, SOTTO_REQUEST_PRIVATE, &changing);
    });
    const auto changed = outcome(engine, submitted, changing, nothing);
    const auto said = say(engine, id, flags);
    const auto told = ask(engine, nothing, SOTTO_OP_CHAT, mara, flags);
    const auto read = ask(engine, nothing, SOTTO_OP_READ_SESSION, mara, flags);
    for (const auto status : {opened, changed, said, told, read}) {
        CHECK(status != SOTTO_ERROR_INTERNAL);
        CHECK(status != SOTTO_ERROR_ARGUMENT);
        CHECK(status != SOTTO_ERROR_BUSY);
    }
    CHECK((opened < 0 || told != SOTTO_ERROR_STATE));
    return told;
}

// Executes all operations of a model in turn. Returns the status of the answer.
sotto_status ask_all(sotto_engine* engine, std::string& text, sotto_request_flags flags) {
    const auto file = R"(, "path": )" + test::quoted(state_path());
    std::string nothing;
    const auto saved = ask(engine, nothing, SOTTO_OP_SAVE_STATE, file, flags);
    const auto restored = ask(engine, nothing, SOTTO_OP_RESTORE_STATE, file, flags);
    for (const auto status : {saved, restored}) { // file operations may fail with other statuses
        CHECK(status != SOTTO_ERROR_INTERNAL);
        CHECK(status != SOTTO_ERROR_ARGUMENT);
    }
    const auto checked =
        ask(engine,
            nothing,
            SOTTO_OP_CHECK,
            R"(, "input": "a text to judge that is too long to be kept in place", "guardrails": {"input": [
            {"type": "judge", "model": "npc", "instruction": "a long rule", "on_error": "allow"}]})",
            flags);
    CHECK(checked != SOTTO_ERROR_INTERNAL);
    CHECK(checked != SOTTO_ERROR_ARGUMENT);
    const auto slot = R"(, "id_slot": 0, "action": "save")" + file;
    for (const auto& action : {std::string(), slot, std::string(R"(, "id_slot": 0, "action": "erase")")}) {
        const auto status = ask(engine, nothing, SOTTO_OP_SLOTS, action, flags);
        CHECK(status != SOTTO_ERROR_INTERNAL);
        CHECK(status != SOTTO_ERROR_ARGUMENT);
    }
    ask(engine, nothing, SOTTO_OP_TOKENIZE, R"(, "content": "a text with words in it")", flags);
    return ask(
        engine,
        text,
        SOTTO_OP_CHAT,
        R"(, "stop": ["zzz"], "n": 2, "logprobs": true, "return_tokens": true)",
        flags
    );
}

// Executes everything once while allocation `fails` fails. Returns false once there are fewer allocations.
bool live_with(long fails, sotto_request_flags flags) {
    CAPTURE(fails);
    Balance balance;
    auto desc = plain_desc();
    desc.log = &balance.quiet;
    desc.memory = &balance.report;
    g_left = fails;
    sotto_engine* engine = nullptr;
    const auto created = call([&] { return sotto_engine_create(&desc, &engine); });
    if (created == SOTTO_OK) {
        const auto backend = scripted();
        const auto added = call([&] { return sotto_engine_add_backend(engine, &backend); });
        const auto loaded = load(engine, "npc", kScript);
        std::string text;
        const auto asked = ask_all(engine, text, flags);
        talk(engine, flags);
        const auto left = unload(engine, "npc");
        const bool reached = g_left.load() < 0;
        g_left = kNever;
        CHECK(allowed(added));
        CHECK((allowed(loaded) || added < 0));
        CHECK((allowed(asked) || loaded < 0));
        CHECK((allowed(left) || loaded < 0));
        CHECK((asked < 0 || text == kSaid));
        if (added == SOTTO_OK) { // checks that the engine continues
            text.clear();
            CHECK(load(engine, "npc", kScript) == SOTTO_OK);
            CHECK(ask_all(engine, text, flags) == SOTTO_OK);
            CHECK(talk(engine, flags) == SOTTO_OK);
            CHECK(text == kSaid);
            CHECK(unload(engine, "npc") == SOTTO_OK);
        }
        sotto_engine_destroy(engine);
        CHECK(balance.is_even());
        return reached;
    }
    g_left = kNever;
    CHECK(created == SOTTO_ERROR_MEMORY);
    CHECK(engine == nullptr);
    return true;
}

} // namespace

TEST_CASE("wherever an allocation fails, each request gets its last event and the engine continues") {
    const Exempt exempt;
    for (const long run : {1, 2, 5, 30}) {
        g_run = run;
        long fails = 0;
        while (live_with(fails, run % 2 != 0 ? SOTTO_REQUEST_CHUNKS : 0)) {
            fails += stride(run);
        }
        MESSAGE("memory ran out ", run, " times at points of ", fails);
        CHECK(fails > 100);
    }
    std::filesystem::remove(state_path());
}

TEST_CASE("wherever an allocation fails, a session stores a whole turn or none of it") {
    const Exempt exempt;
    const auto about = [](const char* more) {
        return std::string(R"({"session": "the session of this test", "model": "npc")") + more + "}";
    };
    const auto message = R"(, "messages": [{"role": "user", "content": "a question that is long"}])";
    g_run = 1;
    long fails = 0;
    for (bool reached = true; reached; ++fails) {
        CAPTURE(fails);
        sotto::Sessions sessions;
        sessions.answer(SOTTO_OP_OPEN_SESSION, about(""));
        const auto before = sessions.answer(SOTTO_OP_READ_SESSION, about(""));
        sotto::CompleteAnswer said;
        said.text = "an answer that is too long to be kept in place";
        bool remembered = false;
        g_left = fails;
        t_exempt = false;
        try {
            sotto::PageString body(about(message));
            auto parsed = sotto::read_request(SOTTO_OP_CHAT, body);
            auto turn = sessions.begin(SOTTO_OP_CHAT, 1, parsed, body);
            turn.remember(said);
            remembered = true;
        } catch (const std::bad_alloc&) {
        }
        t_exempt = true;
        reached = g_left.load() < 0;
        g_left = kNever;
        const auto after = sessions.answer(SOTTO_OP_READ_SESSION, about(""));
        CHECK((after == before) == !remembered);
        CHECK((after.find(said.text) != std::string::npos) == remembered);
        sotto::PageString body(about(message)); // the session is free again
        auto parsed = sotto::read_request(SOTTO_OP_CHAT, body);
        CHECK_NOTHROW(sessions.begin(SOTTO_OP_CHAT, 2, parsed, body));
    }
    MESSAGE("memory ran out at each of ", fails - 1, " points");
    CHECK(fails > 10);
}

TEST_CASE("wherever an allocation fails, a system message is either changed or unchanged") {
    const Exempt exempt;
    const auto about = [](const char* more) { return std::string(R"({"session": "mara")") + more + "}"; };
    const auto change = about(R"(, "system": "a system message that is too long to be kept in place")");
    g_run = 1;
    long fails = 0;
    for (bool reached = true; reached; ++fails) {
        CAPTURE(fails);
        sotto::Sessions sessions;
        sessions.answer(SOTTO_OP_OPEN_SESSION, about(R"(, "messages": [{"role": "user", "content": "hi"}])"));
        const auto before = sessions.answer(SOTTO_OP_READ_SESSION, about(""));
        bool changed = false;
        g_left = fails;
        t_exempt = false;
        try {
            sessions.answer(SOTTO_OP_CHANGE_SESSION, change);
            changed = true;
        } catch (const std::bad_alloc&) {
        }
        t_exempt = true;
        reached = g_left.load() < 0;
        g_left = kNever;
        CHECK((sessions.answer(SOTTO_OP_READ_SESSION, about("")) == before) == !changed);
    }
    CHECK(fails > 10);
}
