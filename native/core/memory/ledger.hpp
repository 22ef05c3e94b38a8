// Accounting of a device's memory: how much is in use, by which owner and for what; enforces the budget
// (ceiling).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace sotto {

enum class Use : std::uint8_t { weights, kv, compute, adapter, image, spilled_kv };
constexpr std::size_t kUses = 6;
const char* name_of(Use use) noexcept;

// The accounts of one device. Claims may be taken and released on any thread. All getters except snapshot()
// never wait.
class Ledger {
public:
    using ByUse = std::array<std::uint64_t, kUses>;
    // Called for each change, in order. `bytes`: negative for a decrease. Must neither throw nor call the
    // ledger.
    using Told = std::function<void(Use use, const std::string& whose, std::int64_t bytes)>;

    // A reservation of device memory: taken before the memory is allocated, released by the destructor.
    class Claim {
    public:
        Claim() = default;
        Claim(Claim&& other) noexcept;
        Claim& operator=(Claim&& other) noexcept;
        ~Claim() { release(); }

        std::uint64_t bytes() const noexcept { return bytes_; }
        // Changes the reservation to `bytes`. Throws Error(SOTTO_ERROR_BUDGET) if there is no room to grow;
        // the reservation is then unchanged.
        void settle(std::uint64_t bytes);
        // Sets the reservation to the actual size, even if that exceeds the ceiling.
        void correct(std::uint64_t bytes) noexcept;
        // Corrects two claims of one ledger under one lock, so that no other thread can reserve the bytes
        // that the first change frees. A decrease is reported before an increase.
        static void
        correct(Claim& one, std::uint64_t bytes, Claim& other, std::uint64_t other_bytes) noexcept;
        void release() noexcept;

    private:
        friend class Ledger;
        void correct_locked(std::uint64_t bytes) noexcept;
        Claim(Ledger& ledger, Use use, std::string whose, std::uint64_t bytes)
            : ledger_(&ledger), use_(use), whose_(std::move(whose)), bytes_(bytes) {}

        Ledger* ledger_ = nullptr;
        Use use_ = Use::weights;
        std::string whose_;
        std::uint64_t bytes_ = 0;
    };

    explicit Ledger(Told told = {}) : told_(std::move(told)) {}

    // Reserves memory. Throws Error(SOTTO_ERROR_BUDGET) that states the needed bytes, the free bytes, and how
    // to make room.
    Claim take(Use use, std::string_view whose, std::uint64_t bytes);

    // Sets the ceiling in bytes; 0: none. Existing claims stay, even if they exceed the new ceiling.
    void set_ceiling(std::uint64_t bytes) noexcept { ceiling_.store(bytes, std::memory_order_relaxed); }
    std::uint64_t ceiling() const noexcept { return ceiling_.load(std::memory_order_relaxed); }
    std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    // Bytes that can still be reserved; UINT64_MAX without a ceiling.
    std::uint64_t free() const noexcept;
    // Bytes by which the claims exceed a ceiling that was lowered.
    std::uint64_t over() const noexcept;
    std::uint64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
    std::uint64_t used(Use use) const noexcept {
        return by_use_[static_cast<std::size_t>(use)].load(std::memory_order_relaxed);
    }
    std::uint64_t peak(Use use) const noexcept {
        return peaks_[static_cast<std::size_t>(use)].load(std::memory_order_relaxed);
    }
    // A consistent copy of all figures. Takes the lock.
    struct Snapshot {
        std::uint64_t ceiling = 0;
        std::uint64_t all = 0; // bytes in use
        std::uint64_t peak = 0;
        ByUse used{};
        ByUse peaks{};
        std::map<std::string, ByUse, std::less<>> owners; // owners with claims
    };
    Snapshot snapshot() const;

private:
    static constexpr std::uint64_t kMaxSum = INT64_MAX;

    // Throws Error(SOTTO_ERROR_BUDGET) if the sum of all claims would exceed kMaxSum after a claim changes
    // from `had` to `bytes` bytes. Requires mutex_.
    void check_countable(const std::string& whose, std::uint64_t bytes, std::uint64_t had) const;
    // Requires mutex_.
    void add(Use use, const std::string& whose, std::int64_t bytes) noexcept;

    const Told told_;
    std::atomic<std::uint64_t> ceiling_{0};
    std::atomic<std::uint64_t> used_{0};
    std::atomic<std::uint64_t> peak_{0};
    std::array<std::atomic<std::uint64_t>, kUses> by_use_{};
    std::array<std::atomic<std::uint64_t>, kUses> peaks_{};
    mutable std::mutex mutex_; // guards owners_, and all writes to the members above except ceiling_
    std::map<std::string, ByUse, std::less<>> owners_;
};

} // namespace sotto
