// Checksums of a save game.
#include "core/game/game_format.hpp"

#define XXH_INLINE_ALL
#include <hash/xxhash/xxhash.h>

namespace sotto::game {

struct Checksum::State {
    XXH3_state_t state;
};

Checksum::Checksum() : state_(std::make_unique<State>()) {
    XXH3_64bits_reset(&state_->state);
}

Checksum::~Checksum() = default;

void Checksum::add(std::string_view text) noexcept {
    XXH3_64bits_update(&state_->state, text.data(), text.size());
}

std::uint64_t Checksum::value() const noexcept {
    return XXH3_64bits_digest(&state_->state);
}

std::uint64_t checksum(std::initializer_list<std::string_view> parts) {
    Checksum sum;
    for (const auto part : parts) {
        sum.add(part);
    }
    return sum.value();
}

} // namespace sotto::game
