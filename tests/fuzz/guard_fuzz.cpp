// Fuzzes guardrails: any configuration is refused or works, and a stream releases the same for every split.
//
// The input is a configuration, up to a newline, then a text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "guard/guard.hpp"
#include "guard/guard_stream.hpp"
#include "text/utf8_stream.hpp"

namespace {

using sotto::guard::Action;
using sotto::guard::Guard;
using sotto::guard::Stage;

struct Result {
    std::string released;
    bool blocked;
};

Result
streamed(const std::shared_ptr<const Guard>& guard, Stage stage, std::string_view text, std::size_t piece) {
    sotto::guard::GuardStream stream(guard, stage);
    Result result{};
    for (; !text.empty(); text.remove_prefix(std::min(text.size(), piece))) {
        stream.feed(text.substr(0, piece), result.released);
    }
    stream.finish(result.released);
    result.blocked = stream.blocked();
    return result;
}

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void check(const std::shared_ptr<const Guard>& guard, Stage stage, const std::string& text) {
    const auto verdict = guard->check(stage, text);
    require(sotto::is_utf8(to_json(verdict)));
    const auto whole = streamed(guard, stage, text, text.size() + 1);
    const auto bytes = streamed(guard, stage, text, 1);
    require(whole.blocked == (verdict.action == Action::block));
    const bool allowed = verdict.action == Action::allow && !bytes.blocked;
    require(!allowed || (whole.released == text && bytes.released == text));
    require(sotto::is_utf8(whole.released) && sotto::is_utf8(bytes.released));
    // what is found in the whole text is never released piece by piece
    require(!whole.blocked || bytes.blocked);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view all(reinterpret_cast<const char*>(data), size);
    const auto config = all.substr(0, all.find('\n'));
    const auto text = sotto::well_formed_utf8(all.substr(std::min(all.size(), config.size() + 1)));
    try {
        const auto guard = std::make_shared<const Guard>(config);
        for (const auto stage : {Stage::input, Stage::output}) {
            check(guard, stage, text);
        }
    } catch (const sotto::Error& error) {
        require(error.status() == SOTTO_ERROR_ARGUMENT && sotto::is_utf8(error.what()));
    }
    return 0;
}
