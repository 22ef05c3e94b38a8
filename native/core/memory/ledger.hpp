// What of a device's memory is taken, by whom and for what; and the ceiling that it never goes over.
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

// Of one device. Any thread may take and give back; whoever only looks never waits.
class Ledger {
public:
    using ByUse = std::array<std::uint64_t, kUses>;
    // Hears of each change, in their order; must neither throw nor come back here.
    using Told = std::function<void(Use use, const std::string& whose, std::int64_t bytes)>;

    // A part of the device's memory. Taken before it is allocated, given back with this.
    class Claim {
    public:
        Claim() = default;
        Claim(Claim&& other) noexcept;
        Claim& operator=(Claim&& other) noexcept;
        ~Claim() { release(); }

        std::uint64_t bytes() const noexcept { return bytes_; }
        // It is to be more, or less. Throws Error(SOTTO_ERROR_BUDGET) where there is no room for more; it
        // then is what it was.
        void settle(std::uint64_t bytes);
        // It turned out to be so much, whether there is room or not.
        void correct(std::uint64_t bytes) noexcept;
        // Corrects two claims of one ledger in one change: no other thread sees the sum between the two, or
        // takes what only the first of them frees. A decrease is reported before an increase.
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

    // Throws Error(SOTTO_ERROR_BUDGET) that names what is needed, what there is, and what would make room.
    Claim take(Use use, std::string_view whose, std::uint64_t bytes);

    // 0: none. What is taken already stays, also if that is more.
    void set_ceiling(std::uint64_t bytes) noexcept { ceiling_.store(bytes, std::memory_order_relaxed); }
    std::uint64_t ceiling() const noexcept { return ceiling_.load(std::memory_order_relaxed); }
    std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    // What may still be taken; UINT64_MAX without a ceiling.
    std::uint64_t free() const noexcept;
    // So much is taken that is over the ceiling, since that was lowered.
    std::uint64_t over() const noexcept;
    std::uint64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
    std::uint64_t used(Use use) const noexcept {
        return by_use_[static_cast<std::size_t>(use)].load(std::memory_order_relaxed);
    }
    std::uint64_t peak(Use use) const noexcept {
        return peaks_[static_cast<std::size_t>(use)].load(std::memory_order_relaxed);
    }
    // All of it at one moment. Waits for those who take.
    struct Snapshot {
        std::uint64_t ceiling = 0;
        std::uint64_t all = 0; // that is taken
        std::uint64_t peak = 0;
        ByUse used{};
        ByUse peaks{};
        std::map<std::string, ByUse, std::less<>> owners; // who have something
    };
    Snapshot snapshot() const;

private:
    static constexpr std::uint64_t kMaxSum = INT64_MAX;

    // With the lock, as add(). Throws Error(SOTTO_ERROR_BUDGET).
    void check_countable(const std::string& whose, std::uint64_t bytes, std::uint64_t had) const;
    // With the lock.
    void add(Use use, const std::string& whose, std::int64_t bytes) noexcept;

    const Told told_;
    std::atomic<std::uint64_t> ceiling_{0};
    std::atomic<std::uint64_t> used_{0};
    std::atomic<std::uint64_t> peak_{0};
    std::array<std::atomic<std::uint64_t>, kUses> by_use_{};
    std::array<std::atomic<std::uint64_t>, kUses> peaks_{};
    mutable std::mutex mutex_; // guards what follows, and every change of what is above but the ceiling
    std::map<std::string, ByUse, std::less<>> owners_;
};

} // namespace sotto
