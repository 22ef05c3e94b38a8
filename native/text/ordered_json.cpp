#include "text/ordered_json.hpp"

#include <stdexcept>

#include "base/error.hpp"
#include "json/value_builder.hpp"

namespace sotto {

Ordered parse_ordered(std::string_view text, const std::atomic<bool>* cancelled) {
    try {
        return read_json<nlohmann::ordered_json>(text, [&](std::size_t) {
            if (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) {
                throw Error(SOTTO_ERROR_CANCELLED, "the request was cancelled");
            }
        });
    } catch (const std::invalid_argument& error) {
        throw Error(SOTTO_ERROR_ARGUMENT, error.what());
    }
}

Ordered try_parse_ordered(std::string_view text) {
    return Ordered::parse(text, nullptr, false);
}

std::string to_text(const Ordered& value) {
    return value.dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

} // namespace sotto
