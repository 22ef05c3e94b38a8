#include "core/state/spill.hpp"

#include <utility>

#include "base/attempt.hpp"

namespace sotto {

std::optional<Scratch::Extent> SpillWrite::take() noexcept {
    const auto outcome = outcome_.exchange(Outcome::taken);
    return outcome == Outcome::written ? std::optional(extent_) : std::nullopt;
}

void SpillWrite::run() {
    bool written = false;
    {
        const auto bytes = std::exchange(bytes_, nullptr); // freed here, even if the write throws
        written = !scratch_->write(bytes->view(), extent_);
    }
    auto pending = Outcome::pending;
    if (written && !outcome_.compare_exchange_strong(pending, Outcome::written)) {
        scratch_->free(extent_); // take() was called before the write ended
    }
}

void SpillRead::run() {
    for (std::size_t i = 0; i < extents_.size(); ++i) {
        PageBuffer bytes(extents_[i].size);
        if (!scratch_->read(extents_[i], bytes.data())) {
            bytes_[i] = std::make_shared<const PageBuffer>(std::move(bytes));
        }
    }
}

void SpillFree::run() {
    for (const auto& extent : extents_) {
        // One extent that cannot be freed must not keep the others, which are freed only here.
        attempt([&] { scratch_->free(extent); }, [](sotto_status, const char*) {});
    }
}

} // namespace sotto
