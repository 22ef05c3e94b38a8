#include "api/handle.hpp"

#include <array>
#include <atomic>
#include <cstdint>

#include "base/error.hpp"

namespace sotto::api {
namespace {

constexpr std::size_t kMost = 64;
constexpr unsigned kIndexBits = 8;

// state: generation | open | pins. A name holds the generation, and counts while that is open.
constexpr std::uint64_t kPins = 0xFFFF'FFFF;
constexpr std::uint64_t kOpen = 1ULL << 32;
constexpr unsigned kGenerationShift = 33;

struct Place {
    std::atomic<std::uint64_t> state{0};
    std::atomic<bool> taken{false};
    Engine* engine = nullptr;
};

std::array<Place, kMost> g_places;

std::uint64_t generation_of(std::uint64_t state) noexcept {
    return state >> kGenerationShift;
}

// Never an address: bits that no user-space pointer of today has, and never NULL.
sotto_engine* name_of(std::size_t index, std::uint64_t generation) noexcept {
    return reinterpret_cast<sotto_engine*>(generation << kIndexBits | (index + 1));
}

bool read_name(sotto_engine* handle, std::size_t& index, std::uint64_t& generation) noexcept {
    const auto name = reinterpret_cast<std::uintptr_t>(handle);
    index = (name & ((1U << kIndexBits) - 1)) - 1;
    generation = name >> kIndexBits;
    return index < kMost;
}

void unpin(Place& place) noexcept {
    const auto before = place.state.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & kOpen) == 0) {
        place.state.notify_all(); // somebody may wait for the last pin
    }
}

bool pin(Place& place, std::uint64_t generation) noexcept {
    const auto before = place.state.fetch_add(1, std::memory_order_acq_rel);
    if ((before & kOpen) != 0 && generation_of(before) == generation) {
        return true;
    }
    unpin(place);
    return false;
}

} // namespace

sotto_engine* open_handle(std::unique_ptr<Engine> engine) {
    for (std::size_t i = 0; i < kMost; ++i) {
        auto& place = g_places[i];
        if (!place.taken.exchange(true, std::memory_order_acq_rel)) {
            place.engine = engine.release();
            const auto before =
                place.state.fetch_add((1ULL << kGenerationShift) | kOpen, std::memory_order_acq_rel);
            return name_of(i, generation_of(before) + 1);
        }
    }
    throw Error(SOTTO_ERROR_BUSY, std::to_string(kMost) + " engines are live; destroy one first");
}

void close_handle(sotto_engine* handle) noexcept {
    std::size_t index = 0;
    std::uint64_t generation = 0;
    if (!read_name(handle, index, generation)) {
        return;
    }
    auto& place = g_places[index];
    auto state = place.state.load(std::memory_order_acquire);
    do {
        if ((state & kOpen) == 0 || generation_of(state) != generation) {
            return;
        }
    } while (!place.state.compare_exchange_weak(state, state & ~kOpen, std::memory_order_acq_rel));
    place.engine->close();
    for (state = place.state.load(); (state & kPins) != 0; state = place.state.load()) {
        place.state.wait(state);
    }
    delete place.engine;
    place.engine = nullptr;
    place.taken.store(false, std::memory_order_release);
}

Pin::Pin(sotto_engine* handle) : index_(0), engine_(nullptr) {
    if (handle == nullptr) {
        throw Error(SOTTO_ERROR_ARGUMENT, "engine is NULL");
    }
    std::uint64_t generation = 0;
    if (!read_name(handle, index_, generation) || !pin(g_places[index_], generation)) {
        throw Error(SOTTO_ERROR_ARGUMENT, "engine is not one, or was destroyed");
    }
    engine_ = g_places[index_].engine;
}

Pin::~Pin() {
    unpin(g_places[index_]);
}

} // namespace sotto::api
