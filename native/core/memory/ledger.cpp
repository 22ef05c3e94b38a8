#include "core/memory/ledger.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "core/memory/units.hpp"

namespace sotto {

const char* name_of(Use use) noexcept {
    constexpr const char* kNames[kUses] = {"weights", "kv", "compute", "adapter", "image", "spilled_kv"};
    return kNames[static_cast<std::size_t>(use)];
}

Ledger::Claim::Claim(Claim&& other) noexcept
    : ledger_(std::exchange(other.ledger_, nullptr)), use_(other.use_), whose_(std::move(other.whose_)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Ledger::Claim& Ledger::Claim::operator=(Claim&& other) noexcept {
    if (this != &other) {
        release();
        ledger_ = std::exchange(other.ledger_, nullptr);
        use_ = other.use_;
        whose_ = std::move(other.whose_);
        bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
}

void Ledger::Claim::settle(std::uint64_t bytes) {
    const std::lock_guard lock(ledger_->mutex_);
    ledger_->check_countable(whose_, bytes, bytes_);
    if (bytes > bytes_ && bytes - bytes_ > ledger_->free()) {
        throw Error(
            SOTTO_ERROR_BUDGET,
            whose_ + " needs " + megabytes(bytes - bytes_) + " more for its " + name_of(use_) + "; " +
                megabytes(ledger_->free()) + " of the budget of " + megabytes(ledger_->ceiling()) +
                " are left; raise vram_budget, or unload a model"
        );
    }
    ledger_->add(use_, whose_, static_cast<std::int64_t>(bytes - bytes_));
    bytes_ = bytes;
}

void Ledger::Claim::correct(std::uint64_t bytes) noexcept {
    const std::lock_guard lock(ledger_->mutex_);
    correct_locked(bytes);
}

void Ledger::Claim::correct(
    Claim& one, std::uint64_t bytes, Claim& other, std::uint64_t other_bytes
) noexcept {
    const std::lock_guard lock(one.ledger_->mutex_);
    if (bytes > one.bytes_) {
        other.correct_locked(other_bytes);
        one.correct_locked(bytes);
    } else {
        one.correct_locked(bytes);
        other.correct_locked(other_bytes);
    }
}

void Ledger::Claim::correct_locked(std::uint64_t bytes) noexcept {
    bytes = std::min(bytes, kMaxSum - (ledger_->used() - bytes_));
    ledger_->add(use_, whose_, static_cast<std::int64_t>(bytes - bytes_));
    bytes_ = bytes;
}

void Ledger::Claim::release() noexcept {
    if (ledger_ == nullptr) {
        return;
    }
    const std::lock_guard lock(ledger_->mutex_);
    ledger_->add(use_, whose_, -static_cast<std::int64_t>(bytes_));
    ledger_ = nullptr;
    bytes_ = 0;
}

std::uint64_t Ledger::free() const noexcept {
    const auto max = ceiling();
    const auto taken = used();
    return max == 0 ? UINT64_MAX : max - std::min(max, taken);
}

std::uint64_t Ledger::over() const noexcept {
    const auto max = ceiling();
    const auto taken = used();
    return max == 0 || taken <= max ? 0 : taken - max;
}

// Prevents overflow of the sum, with or without a ceiling: a backend may report any number of bytes.
void Ledger::check_countable(const std::string& whose, std::uint64_t bytes, std::uint64_t had) const {
    if (bytes > kMaxSum - (used() - had)) {
        throw Error(
            SOTTO_ERROR_BUDGET,
            whose + " needs " + std::to_string(bytes) + " bytes; expected at most " +
                std::to_string(kMaxSum - (used() - had)) + ". Check the backend that reports it"
        );
    }
}

Ledger::Claim Ledger::take(Use use, std::string_view whose, std::uint64_t bytes) {
    std::string name(whose);
    const std::lock_guard lock(mutex_);
    check_countable(name, bytes, 0);
    if (bytes > free()) {
        throw Error(
            SOTTO_ERROR_BUDGET,
            name + " needs " + megabytes(bytes) + " for its " + name_of(use) + "; " + megabytes(used()) +
                " of the budget of " + megabytes(ceiling()) +
                " are taken; raise vram_budget, or unload a model"
        );
    }
    owners_.try_emplace(name);
    add(use, name, static_cast<std::int64_t>(bytes));
    return {*this, use, std::move(name), bytes};
}

// Allocates nothing: every owner already has an entry.
void Ledger::add(Use use, const std::string& whose, std::int64_t bytes) noexcept {
    const auto at = static_cast<std::size_t>(use);
    const auto grow = [&](std::atomic<std::uint64_t>& sum) {
        const auto now = sum.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(bytes);
        sum.store(now, std::memory_order_relaxed);
        return now;
    };
    const auto raise = [](std::atomic<std::uint64_t>& peak, std::uint64_t now) {
        peak.store(std::max(peak.load(std::memory_order_relaxed), now), std::memory_order_relaxed);
    };
    raise(peak_, grow(used_));
    raise(peaks_[at], grow(by_use_[at]));
    if (const auto owner = owners_.find(whose); owner != owners_.end()) {
        owner->second[at] += static_cast<std::uint64_t>(bytes);
    }
    if (told_ && bytes != 0) {
        told_(use, whose, bytes);
    }
}

Ledger::Snapshot Ledger::snapshot() const {
    const std::lock_guard lock(mutex_);
    Snapshot now{.ceiling = ceiling(), .all = used(), .peak = peak(), .owners = owners_};
    for (std::size_t at = 0; at < kUses; ++at) {
        now.used[at] = used(static_cast<Use>(at));
        now.peaks[at] = peak(static_cast<Use>(at));
    }
    std::erase_if(now.owners, [](const auto& owner) {
        return std::ranges::all_of(owner.second, [](auto bytes) { return bytes == 0; });
    });
    return now;
}

} // namespace sotto
