#include "backends/proxy/refusal.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "backends/proxy/text.hpp"

namespace sotto::proxy {
namespace {

sotto_status status_of(int status) noexcept {
    switch (status) {
    case 400:
    case 413:
    case 415:
    case 422:
        return SOTTO_ERROR_ARGUMENT;
    case 404:
        return SOTTO_ERROR_NOT_FOUND;
    case 405:
    case 501:
        return SOTTO_ERROR_UNSUPPORTED;
    case 429:
        return SOTTO_ERROR_BUSY;
    default:
        return SOTTO_ERROR_INFERENCE;
    }
}

const char* advice_of(int status) noexcept {
    switch (status) {
    case 401:
        return "; check options.api_key";
    case 403:
        return "; check what options.api_key may use";
    case 404:
        return "; check options.base_url and options.model";
    case 429:
        return "; wait, or raise options.max_retries";
    default:
        return "";
    }
}

// Returns the message in the body of an error: OpenAI's form, or one of those of other servers.
std::string message_of(std::string_view body) {
    const auto json = try_parse(body);
    if (!json.is_object()) {
        return one_line(body);
    }
    for (const char* key : {"error", "detail", "message"}) {
        const auto* found = find(json, key);
        if (found != nullptr && found->is_string()) {
            return one_line(found->get<std::string>());
        }
        if (found != nullptr && !string_at(*found, "message").empty()) {
            return one_line(string_at(*found, "message"));
        }
    }
    return "";
}

} // namespace

Error refusal(int status, const std::string& what, std::string_view body, const std::string& location) {
    const auto code = std::to_string(status);
    if (status >= 300 && status < 400) {
        const auto end = location.find_first_of("?#");
        const auto to = location.empty() ? "" : " to '" + one_line(location.substr(0, end), 120) + "'";
        return Error(
            SOTTO_ERROR_INFERENCE,
            what + " was redirected" + to + " (" + code + "), which is not followed; change options.base_url"
        );
    }
    const auto message = message_of(body);
    return Error(
        status_of(status),
        what + " was refused with " + code + (message.empty() ? "" : ": " + message) + advice_of(status)
    );
}

bool may_pass(int status) noexcept {
    return status == 408 || status == 409 || status == 429 || (status >= 500 && status != 501);
}

std::int64_t wait_before(std::uint32_t attempt, const std::string& retry_after) noexcept {
    constexpr std::int64_t kFirst = 500;
    constexpr std::int64_t kMax = 8'000;
    constexpr std::int64_t kMaxAsked = 60; // seconds
    std::int64_t asked = -1;
    const auto [end, failed] =
        std::from_chars(retry_after.data(), retry_after.data() + retry_after.size(), asked);
    if (failed == std::errc() && end == retry_after.data() + retry_after.size() && asked >= 0) {
        return asked > kMaxAsked ? -1 : asked * 1'000;
    }
    const auto wait = std::min(kMax, kFirst << std::min(attempt - 1, 10U));
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return wait - now % (wait / 4); // so that clients that were refused together do not come back together
}

} // namespace sotto::proxy
