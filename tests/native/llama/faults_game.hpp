// The program under test of llama_faults_test: an engine with the house model, and its requests.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <sotto/sotto.h>

#include "faults.hpp"

inline std::string folder; // folder of modules
inline std::string saved;  // path of a saved state
inline long failures = 0;
inline char point[200]; // current injection point, for the signal handler

inline void complain(const std::string& what) {
    const faults::Exempt exempt;
    std::printf("%s: %s\n", point, what.c_str());
    std::fflush(stdout);
    ++failures;
}

inline sotto_str str(const std::string& text) {
    return {text.data(), text.size()};
}

inline bool allowed(sotto_status status) {
    return status == SOTTO_OK || status == SOTTO_ERROR_MEMORY;
}

struct Outcome {
    sotto_status status = SOTTO_OK;
    std::string text;
};

inline Outcome finish(sotto_engine* engine, sotto_status submitted, sotto_request request) {
    Outcome outcome;
    if (submitted < 0) {
        const faults::Exempt exempt;
        const auto why = sotto_last_error();
        return {submitted, std::string(why.data, why.size)};
    }
    for (;;) {
        auto event = SOTTO_INIT(sotto_event);
        const auto status = sotto_engine_wait_request_event(engine, request, 30'000, &event);
        const faults::Exempt exempt;
        if (status == SOTTO_ERROR_MEMORY) {
            continue; // the event stays in the queue
        }
        if (status != SOTTO_OK) {
            return {SOTTO_ERROR_INTERNAL, "wait_event: " + std::to_string(status)};
        }
        if (event.kind == SOTTO_EVENT_TEXT) {
            outcome.text.append(event.text.data, event.text.size);
        }
        if (event.kind == SOTTO_EVENT_REQUEST_DONE) {
            outcome.status = event.status;
            if (event.status < 0) {
                outcome.text.assign(event.error.data, event.error.size);
            }
            return outcome;
        }
    }
}

inline Outcome submit(sotto_engine* engine, sotto_op op, const std::string& body) {
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = op;
    desc.body = str(body);
    desc.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    const auto status = sotto_engine_submit(engine, &desc, &request);
    return finish(engine, status, request);
}

inline std::string chat(const char* session) {
    const faults::Exempt exempt;
    const std::string in = *session == '\0' ? "" : std::string(R"(, "session": ")") + session + "\"";
    return R"({"model": "npc", "max_tokens": 8, "temperature": 0, "logprobs": true, "messages": [)"
           R"({"role": "user", "content": "Who are you?"}])" +
           in + "}";
}

// A chat with a schema that was never used before, so that nothing of it is cached.
inline std::string schema_chat() {
    const faults::Exempt exempt;
    static int count = 0;
    const auto name = "name_" + std::to_string(++count);
    return R"({"model": "npc", "max_tokens": 16, "temperature": 0, "messages": [)"
           R"({"role": "user", "content": "Who are you?"}], "response_format": {"type": "json_schema", )"
           R"("json_schema": {"schema": {"type": "object", "properties": {")" +
           name + R"(": {"enum": ["king", "moon"]}}, "required": [")" + name + R"("]}}}})";
}

inline const std::string& house() {
    const faults::Exempt exempt;
    static const std::string path = folder + "/house.gguf";
    return path;
}

inline Outcome load(sotto_engine* engine) {
    static const std::string id = "npc";
    static const std::string options = [] {
        const faults::Exempt exempt;
        return std::string(R"({"parallel": 1, "context": 512})");
    }();
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str(id);
    desc.path = str(house());
    desc.options = str(options);
    desc.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    const auto status = sotto_engine_load_model(engine, &desc, &request);
    return finish(engine, status, request);
}

inline Outcome unload(sotto_engine* engine) {
    static const std::string id = "npc";
    sotto_request request = 0;
    const auto status = sotto_engine_unload_model(engine, str(id), SOTTO_REQUEST_PRIVATE, &request);
    return finish(engine, status, request);
}

inline sotto_status make(sotto_engine** engine) {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.module_dir = str(folder);
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    auto log = SOTTO_INIT(sotto_log_sink);
    log.write = [](void*, sotto_log_level, sotto_str) {};
    desc.log = &log;
    return sotto_engine_create(&desc, engine);
}

// An engine with a model and two sessions on its only slot: each turn parks the other session.
class Game {
public:
    Game() {
        const faults::Exempt exempt;
        if (make(&engine) != SOTTO_OK || load(engine).status != SOTTO_OK) {
            complain("no engine");
            std::exit(1);
        }
        begin();
        answer = submit(engine, SOTTO_OP_CHAT, chat("")).text;
    }
    ~Game() { sotto_engine_destroy(engine); }
    Game(const Game&) = delete;
    Game& operator=(const Game&) = delete;

    // Restarts both conversations, so that none exceeds the context.
    void begin() {
        const faults::Exempt exempt;
        for (const std::string session : {"one", "two"}) {
            const auto named = R"("session": ")" + session + "\"";
            submit(engine, SOTTO_OP_CLOSE_SESSION, "{" + named + "}");
            submit(engine, SOTTO_OP_OPEN_SESSION, R"({"model": "npc", )" + named + "}");
        }
    }

    // Checks that the same engine answers without faults.
    void check() {
        const faults::Exempt exempt;
        if (const auto again = load(engine); again.status != SOTTO_OK) {
            return complain("afterwards, load: " + std::to_string(again.status) + " " + again.text);
        }
        const auto now = submit(engine, SOTTO_OP_CHAT, chat(""));
        if (now.status != SOTTO_OK || now.text != answer) {
            complain(
                "afterwards: " + std::to_string(now.status) + " '" + now.text + "', not '" + answer + "'"
            );
        }
    }

    sotto_engine* engine = nullptr;
    std::string answer;
};
