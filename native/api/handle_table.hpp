// Handles of C callers: numbers that every call looks up, so that a stale one is harmless.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "platform/process.hpp"

namespace sotto::api {

// The objects of one kind that C callers own. A forked child starts with an empty table: the parent's objects
// are left untouched there. Any thread.
//
// `Kind` has constants: kName and kPlural, the names in errors; kNumber, 0 to 15, part of each handle, so
// that a handle of another kind is refused; and kMax, the maximum number of live objects in this process.
template <typename T, typename Kind>
class HandleTable {
    static constexpr std::size_t kMax = Kind::kMax;

    struct Place {
        std::atomic<std::uint64_t> state{0};
        std::atomic<bool> taken{false};
        T* object = nullptr;
    };

public:
    constexpr HandleTable() noexcept = default;

    // Throws Error(SOTTO_ERROR_BUSY) if the table is full.
    std::uintptr_t open(std::unique_ptr<T> object) {
        auto& places = places_.get();
        for (std::size_t i = 0; i < kMax; ++i) {
            auto& place = places[i];
            if (!place.taken.load(std::memory_order_relaxed) &&
                !place.taken.exchange(true, std::memory_order_acq_rel)) {
                place.object = object.release();
                const auto before =
                    place.state.fetch_add((1ULL << kGenerationShift) | kOpen, std::memory_order_acq_rel);
                return handle_of(i, generation_of(before) + 1);
            }
        }
        throw Error(
            SOTTO_ERROR_BUSY,
            std::to_string(kMax) + " " + Kind::kPlural + " are live, the maximum: destroy one first"
        );
    }

    // Takes an object out of the table: new calls no longer find it. Calls end_calls(object), waits for the
    // calls that are running, and returns the object; null for an invalid handle, including one of a parent
    // process.
    template <typename EndCalls>
    std::unique_ptr<T> close(std::uintptr_t handle, EndCalls&& end_calls) noexcept {
        const auto name = read(handle);
        auto* const found = place_of(name);
        if (found == nullptr) {
            return nullptr;
        }
        auto& place = *found;
        auto state = place.state.load(std::memory_order_acquire);
        do {
            if ((state & kOpen) == 0 || !is_generation(state, name)) {
                return nullptr;
            }
        } while (!place.state.compare_exchange_weak(state, state & ~kOpen, std::memory_order_acq_rel));
        end_calls(*place.object);
        for (state = place.state.load(); (state & kPins) != 0; state = place.state.load()) {
            place.state.wait(state);
        }
        std::unique_ptr<T> object(std::exchange(place.object, nullptr));
        place.taken.store(false, std::memory_order_release);
        return object;
    }

    // Keeps an object alive for the duration of a call.
    class Pin {
    public:
        // Throws Error(SOTTO_ERROR_ARGUMENT) for NULL, for an invalid handle, and for a handle created before
        // fork() in the parent process.
        Pin(HandleTable& table, std::uintptr_t handle) {
            const std::string kind = Kind::kName;
            if (handle == 0) {
                throw Error(SOTTO_ERROR_ARGUMENT, "missing " + kind + ": expected a handle, not NULL");
            }
            const auto name = read(handle);
            if (name.is_kind() && name.index < kMax && name.process < process_generation()) {
                throw Error(
                    SOTTO_ERROR_ARGUMENT,
                    "invalid " + kind + " handle: it belongs to the parent process of fork(); create the " +
                        kind + " in this process"
                );
            }
            auto* const place = table.place_of(name);
            if (place == nullptr || !pin(*place, name)) {
                throw Error(
                    SOTTO_ERROR_ARGUMENT, "invalid " + kind + " handle: never created, or already destroyed"
                );
            }
            place_ = place;
            object_ = place->object;
        }
        ~Pin() { unpin(*place_); }
        Pin(const Pin&) = delete;
        Pin& operator=(const Pin&) = delete;

        T* operator->() const noexcept { return object_; }
        T& operator*() const noexcept { return *object_; }

    private:
        Place* place_ = nullptr;
        T* object_ = nullptr;
    };

private:
    static constexpr unsigned kIndexBits = 16;
    static_assert(kMax < (1U << kIndexBits));
    // Layout of a handle: number of forks before this process | kind, 4 bits | generation, 28 bits from bit
    // 16 on | index + 1. A handle is not an address and never NULL.
    static constexpr unsigned kKindShift = 44;
    static constexpr unsigned kProcessShift = 48;
    static constexpr std::uint64_t kGenerations = (1ULL << (kKindShift - kIndexBits)) - 1;

    // Layout of `state`: generation | open bit | number of pins. A handle contains the low bits of the
    // generation and is valid while that generation is open.
    static constexpr std::uint64_t kPins = 0xFFFF'FFFF;
    static constexpr std::uint64_t kOpen = 1ULL << 32;
    static constexpr unsigned kGenerationShift = 33;

    struct Name {
        std::size_t index;
        std::uint64_t generation;
        std::uint64_t kind;
        std::uint64_t process;

        bool is_kind() const noexcept { return kind == Kind::kNumber; }
    };

    static std::uint64_t generation_of(std::uint64_t state) noexcept { return state >> kGenerationShift; }
    static bool is_generation(std::uint64_t state, const Name& name) noexcept {
        return (generation_of(state) & kGenerations) == name.generation;
    }

    static std::uintptr_t handle_of(std::size_t index, std::uint64_t generation) noexcept {
        const auto process = static_cast<std::uint64_t>(process_generation());
        return static_cast<std::uintptr_t>(
            process << kProcessShift | std::uint64_t{Kind::kNumber} << kKindShift |
            (generation & kGenerations) << kIndexBits | (index + 1)
        );
    }
    static Name read(std::uintptr_t handle) noexcept {
        const std::uint64_t bits = handle;
        return {
            (bits & ((1U << kIndexBits) - 1)) - 1,
            bits >> kIndexBits & kGenerations,
            bits >> kKindShift & 0xF,
            bits >> kProcessShift
        };
    }

    // Returns the table entry of a handle, or null if the handle is from another process or out of range.
    Place* place_of(const Name& name) const noexcept {
        const bool here = name.is_kind() && name.index < kMax && name.process == process_generation();
        auto* const places = here ? places_.made() : nullptr;
        return places != nullptr ? &(*places)[name.index] : nullptr;
    }

    static void unpin(Place& place) noexcept {
        const auto before = place.state.fetch_sub(1, std::memory_order_acq_rel);
        if ((before & kOpen) == 0) {
            place.state.notify_all(); // close() may be waiting for the last pin
        }
    }
    static bool pin(Place& place, const Name& name) noexcept {
        const auto before = place.state.fetch_add(1, std::memory_order_acq_rel);
        if ((before & kOpen) != 0 && is_generation(before, name)) {
            return true;
        }
        unpin(place);
        return false;
    }

    PerProcess<std::array<Place, kMax>> places_;
};

} // namespace sotto::api
