// A session in a small game's engine.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/tapped_backend.hpp"
#include "text/json_reader.hpp"

namespace test {

using sotto::Json;

// Body of a session request.
inline std::string about(std::string_view session, std::string_view more = "") {
    return R"({"session": )" + test::quoted(session) + std::string(more) + "}";
}

// Executes a session request and returns its last event.
inline Told asked(Game& game, sotto_op op, std::string_view body) {
    const auto history = game.finish(game.submit(body, {}, op)); // a copy
    CHECK(history.size() == 1);                                  // it has no other event
    return done(history);
}

using Lines = std::vector<std::string>;

// The messages that the model received last, as "role: content".
inline Lines given(const TappedBackend& backend) {
    Lines all;
    const auto body = Json::parse(backend.bodies().back());
    for (const auto& message : body["messages"]) {
        all.push_back(message.value("role", "") + ": " + message.value("content", ""));
    }
    return all;
}

class Session {
public:
    // `more`: further fields, each after a comma.
    Session(Game& game, std::string_view id, std::string_view more = "") : game_(game), id_(id) {
        const auto told = asked(game, SOTTO_OP_OPEN_SESSION, about(id, more));
        REQUIRE_MESSAGE(told.status == SOTTO_OK, told.error);
    }

    // Starts a turn.
    sotto_request say(std::string_view text, std::string_view more = "", const Ask& how = {}) {
        return game_.submit(
            chat("npc", text, std::string(R"(, "session": )") + test::quoted(id_) + std::string(more)), how
        );
    }

    // Executes a turn and returns the answer's text.
    std::string turn(std::string_view text, std::string_view more = "") {
        const auto history = game_.finish(say(text, more));
        CHECK_MESSAGE(done(history).status == SOTTO_OK, done(history).error);
        return said(history);
    }

    // "role: content" of each message.
    std::vector<std::string> lines() {
        std::vector<std::string> all;
        const auto whole = read();
        for (const auto& message : whole["messages"]) {
            const auto content = message.value("content", Json());
            const auto text = content.is_string() ? content.get<std::string>() : sotto::to_text(content);
            all.push_back(message.value("role", "") + ": " + text);
        }
        return all;
    }

    Json read() {
        const auto told = asked(game_, SOTTO_OP_READ_SESSION, about(id_));
        REQUIRE_MESSAGE(told.status == SOTTO_OK, told.error);
        return Json::parse(told.json);
    }

    void close() { CHECK(asked(game_, SOTTO_OP_CLOSE_SESSION, about(id_)).status == SOTTO_OK); }

private:
    Game& game_;
    const std::string id_;
};

} // namespace test

template <>
struct doctest::StringMaker<test::Lines> {
    static doctest::String convert(const test::Lines& lines) {
        std::string all;
        for (const auto& line : lines) {
            all += (all.empty() ? "" : " | ") + line;
        }
        return all.c_str();
    }
};
