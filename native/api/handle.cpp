#include "api/handle.hpp"

#include <array>
#include <atomic>
#include <cstdint>

#include "base/error.hpp"
#include "platform/process.hpp"

namespace sotto::api {

struct Place {
    std::atomic<std::uint64_t> state{0};
    std::atomic<bool> taken{false};
    Engine* engine = nullptr;
};

namespace {

constexpr std::size_t kMax = 64;
constexpr unsigned kIndexBits = 8;
// Layout of a handle: number of forks before this process | generation, 31 bits from bit 8 on | index + 1
constexpr unsigned kProcessShift = 40;

// Layout of `state`: generation | open bit | number of pins. A handle contains the generation and is valid
// while that generation is open.
constexpr std::uint64_t kPins = 0xFFFF'FFFF;
constexpr std::uint64_t kOpen = 1ULL << 32;
constexpr unsigned kGenerationShift = 33;

// A forked child starts with an empty table: the parent's engines have no threads in the child and are left
// untouched.
PerProcess<std::array<Place, kMax>> g_places;

std::uint64_t generation_of(std::uint64_t state) noexcept {
    return state >> kGenerationShift;
}

struct Name {
    std::size_t index;
    std::uint64_t generation;
    std::uint64_t process;
};

// Returns the handle of a table entry. A handle is not an address: it has bits set that no current user-space
// pointer has, and is never NULL.
sotto_engine* name_of(std::size_t index, std::uint64_t generation) noexcept {
    const auto process = static_cast<std::uint64_t>(process_generation());
    return reinterpret_cast<sotto_engine*>(process << kProcessShift | generation << kIndexBits | (index + 1));
}

Name read_name(sotto_engine* handle) noexcept {
    const auto name = reinterpret_cast<std::uintptr_t>(handle);
    constexpr auto kGenerations = (1ULL << (kProcessShift - kIndexBits)) - 1;
    return {(name & ((1U << kIndexBits) - 1)) - 1, name >> kIndexBits & kGenerations, name >> kProcessShift};
}

bool is_of_parent(const Name& name) noexcept {
    return name.index < kMax && name.process < process_generation();
}

// Returns the table entry of a handle, or null if the handle is from another process or out of range.
Place* place_of(const Name& name) noexcept {
    const bool here = name.index < kMax && name.process == process_generation();
    auto* const places = here ? g_places.made() : nullptr;
    return places != nullptr ? &(*places)[name.index] : nullptr;
}

void unpin(Place& place) noexcept {
    const auto before = place.state.fetch_sub(1, std::memory_order_acq_rel);
    if ((before & kOpen) == 0) {
        place.state.notify_all(); // close_handle() may be waiting for the last pin
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
    auto& places = g_places.get();
    for (std::size_t i = 0; i < kMax; ++i) {
        auto& place = places[i];
        if (!place.taken.exchange(true, std::memory_order_acq_rel)) {
            place.engine = engine.release();
            const auto before =
                place.state.fetch_add((1ULL << kGenerationShift) | kOpen, std::memory_order_acq_rel);
            return name_of(i, generation_of(before) + 1);
        }
    }
    throw Error(SOTTO_ERROR_BUSY, std::to_string(kMax) + " engines are live, the maximum: destroy one first");
}

void close_handle(sotto_engine* handle) noexcept {
    const auto name = read_name(handle);
    auto* const found = place_of(name);
    if (found == nullptr) {
        return;
    }
    auto& place = *found;
    auto state = place.state.load(std::memory_order_acquire);
    do {
        if ((state & kOpen) == 0 || generation_of(state) != name.generation) {
            return;
        }
    } while (!place.state.compare_exchange_weak(state, state & ~kOpen, std::memory_order_acq_rel));
    place.engine->close();
    for (state = place.state.load(); (state & kPins) != 0; state = place.state.load()) {
        place.state.wait(state);
    }
    Engine::end(std::unique_ptr<Engine>(std::exchange(place.engine, nullptr)));
    place.taken.store(false, std::memory_order_release);
}

Pin::Pin(sotto_engine* handle) : place_(nullptr), engine_(nullptr) {
    if (handle == nullptr) {
        throw Error(SOTTO_ERROR_ARGUMENT, "missing engine: expected a handle, not NULL");
    }
    const auto name = read_name(handle);
    if (is_of_parent(name)) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid engine handle: the engine belongs to the parent process of fork(); create an engine in "
            "this process"
        );
    }
    auto* const place = place_of(name);
    if (place == nullptr || !pin(*place, name.generation)) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid engine handle: never created, or already destroyed");
    }
    place_ = place;
    engine_ = place->engine;
}

Pin::~Pin() {
    unpin(*place_);
}

} // namespace sotto::api
