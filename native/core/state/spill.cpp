#include "core/state/spill.hpp"

#include <utility>

#include "base/attempt.hpp"

namespace sotto {
namespace {

void ignore(sotto_status, const char*) noexcept {}

} // namespace

std::optional<Scratch::Extent> SpillWrite::take() noexcept {
    const auto outcome = outcome_.exchange(Outcome::taken);
    return outcome == Outcome::written ? std::optional(extent_) : std::nullopt;
}

void SpillWrite::run() noexcept {
    bool written = false;
    attempt([&] { written = !scratch_->write(bytes_->view(), extent_); }, ignore);
    bytes_.reset();
    auto pending = Outcome::pending;
    if (!outcome_.compare_exchange_strong(pending, written ? Outcome::written : Outcome::failed) && written) {
        attempt([&] { scratch_->free(extent_); }, ignore); // take() was called before the write ended
    }
}

void SpillRead::run() noexcept {
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        const auto body = [&] {
            PageBuffer bytes(extents_[i].size);
            if (!scratch_->read(extents_[i], bytes.data())) {
                bytes_[i] = std::make_shared<const PageBuffer>(std::move(bytes));
            }
        };
        attempt(body, ignore);
    }
}

void SpillFree::run() noexcept {
    for (const auto& extent : extents_) {
        attempt([&] { scratch_->free(extent); }, ignore);
    }
}

} // namespace sotto
