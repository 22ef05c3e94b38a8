// Parses JSON in time linear in its length.
#include "runtime/json_parse.hpp"

#include "runtime/guard.hpp"
#include "runtime/json_parts.hpp"
#include "json/value_builder.hpp"

#include <stdexcept>

namespace sotto::llama {

Json parse_json(std::string_view text) {
    constexpr unsigned kEvery = 4096; // values between checks for cancellation
    unsigned values = 0;
    try {
        return read_json<nlohmann::ordered_json>(text, [&](std::size_t) {
            if (++values % kEvery == 0) {
                throw_if_cancelled();
            }
        });
    } catch (const std::invalid_argument& error) {
        throw Error(SOTTO_ERROR_ARGUMENT, error.what());
    }
}

} // namespace sotto::llama
