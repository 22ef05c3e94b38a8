// What tests ask of an engine, as a host on Windows does.
#pragma once

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include <sotto/sotto.h>

namespace test {

inline std::string utf8(const std::filesystem::path& path) {
    const auto text = path.u8string();
    return {text.begin(), text.end()};
}

inline sotto_str str(const std::string& text) {
    return {text.data(), text.size()};
}

inline std::string text_of(sotto_str text) {
    return {text.data, text.size};
}

// How a request ended, and what came before.
struct End {
    sotto_status status;
    std::string why;
    std::string said;
};

// One that the library makes; each request is private, and waited for.
class Engine {
public:
    explicit Engine(const sotto_engine_desc& desc) {
        REQUIRE_MESSAGE(sotto_engine_create(&desc, &engine_) == SOTTO_OK, text_of(sotto_last_error()));
    }
    ~Engine() { sotto_engine_destroy(engine_); }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // What the engine tells as JSON.
    std::string told(sotto_status(SOTTO_CALL* tell)(sotto_engine*, sotto_str*)) const {
        sotto_str json{};
        REQUIRE(tell(engine_, &json) == SOTTO_OK);
        return text_of(json);
    }

    End end_of(sotto_request request) const {
        auto event = SOTTO_INIT(sotto_event);
        std::string said;
        while (event.kind != SOTTO_EVENT_REQUEST_DONE) {
            constexpr int kPatience = 60'000;
            REQUIRE(sotto_engine_wait_request_event(engine_, request, kPatience, &event) == SOTTO_OK);
            said += event.kind == SOTTO_EVENT_TEXT ? text_of(event.text) : "";
        }
        return {event.status, text_of(event.error), said};
    }

    End ask(sotto_op op, const std::string& body) const {
        auto asked = SOTTO_INIT(sotto_request_desc);
        asked.op = op;
        asked.body = str(body);
        asked.flags = SOTTO_REQUEST_PRIVATE;
        sotto_request request = 0;
        REQUIRE(sotto_engine_submit(engine_, &asked, &request) == SOTTO_OK);
        return end_of(request);
    }

    End load(const std::filesystem::path& file) const {
        auto model = SOTTO_INIT(sotto_model_desc);
        const auto path = utf8(file);
        model.id = {"npc", SOTTO_NUL};
        model.path = str(path);
        model.flags = SOTTO_REQUEST_PRIVATE;
        sotto_request request = 0;
        REQUIRE(sotto_engine_load_model(engine_, &model, &request) == SOTTO_OK);
        return end_of(request);
    }

private:
    sotto_engine* engine_ = nullptr;
};

} // namespace test
