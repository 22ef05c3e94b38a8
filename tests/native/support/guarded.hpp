// Configurations of guardrails, and texts that stream through them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "guard/guard.hpp"
#include "guard/guard_stream.hpp"
#include "text/json_reader.hpp"

namespace test {

inline std::string phrases(const sotto::Json& list, const sotto::Json& more = sotto::Json::object()) {
    sotto::Json checker = {{"type", "phrases"}, {"phrases", list}};
    checker.update(more);
    return sotto::Json{{"output", {checker}}}.dump();
}

struct Streamed {
    std::string text;
    bool blocked;
    std::size_t most_held = 0;
};

inline Streamed stream(const std::string& config, const std::string& text, std::size_t step) {
    sotto::guard::GuardStream open(
        std::make_shared<const sotto::guard::Guard>(config), sotto::guard::Stage::output
    );
    Streamed result{};
    for (std::size_t i = 0; i < text.size(); i += step) {
        open.feed(std::string_view(text).substr(i, step), result.text);
        result.most_held = std::max(result.most_held, open.held());
    }
    open.finish(result.text);
    result.blocked = open.blocked();
    return result;
}

} // namespace test
