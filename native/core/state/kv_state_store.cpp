#include "core/state/kv_state_store.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "core/state/packing.hpp"

namespace sotto {

KvStateStore::KvStateStore(
    Ledger& ledger, std::filesystem::path folder, std::uint64_t most, const Hooks& hooks
)
    : ledger_(ledger), most_(most), file_(std::move(folder), hooks) {}

// Creates an entry that removes itself from this store when it is destroyed.
std::shared_ptr<KvStateEntry> KvStateStore::make_entry() {
    return std::shared_ptr<Entry>(new Entry, [this](Entry* entry) noexcept {
        drop(*entry);
        delete entry;
    });
}

KvStateStore::Kept KvStateStore::put(std::string_view whose, PageBuffer bytes, std::size_t head) {
    auto entry = make_entry();
    auto state = std::make_shared<State>(*this, entry);
    entry->number = ++numbers_;
    entry->whose = whose;
    entry->head = head < bytes.size() ? head : kApart;
    entry->size = entry->whole = bytes.size();
    bytes.fit();
    const auto shared = std::make_shared<const PageBuffer>(std::move(bytes));
    return into_memory(*entry, shared) || into_file(*entry, shared) ? std::move(state) : nullptr;
}

// Keeps a state in memory; spills older states if necessary. Returns false if the state does not fit.
bool KvStateStore::into_memory(Entry& entry, const SharedBytes& bytes) {
    if (!make_room(bytes->size())) {
        return false;
    }
    for (;;) {
        try {
            auto claim = ledger_.take(Use::spilled_kv, entry.whose, bytes->size());
            const std::lock_guard lock(mutex_);
            order_.add(entry);
            entry.claim = std::move(claim);
            entry.bytes = bytes;
            ++figures_.count;
            figures_.memory += entry.size;
            return true;
        } catch (const Error&) { // the budget is exhausted
            if (!spill_next(false, Else::forget, SpillFile::patience_for(bytes->size()))) {
                return false;
            }
        }
    }
}

bool KvStateStore::make_room(std::uint64_t bytes) {
    if (bytes > most_) {
        return false;
    }
    while (figures().memory > most_ - bytes) {
        if (!spill_next(false, Else::forget, SpillFile::patience_for(bytes))) {
            return false;
        }
    }
    return true;
}

// Spills the next entry to the file. Returns false if no entry can be spilled, or if the write
// fails and `otherwise` keeps the entry in memory. `pinned`: may spill pinned entries too.
bool KvStateStore::spill_next(bool pinned, Else otherwise, std::int64_t patience) {
    // Marked as moving, so no other call spills the entry. Released after unlocking mutex_, which drop()
    // locks.
    std::shared_ptr<Entry> entry;
    {
        const std::lock_guard lock(mutex_);
        entry = order_.next_to_spill(pinned);
    }
    if (entry == nullptr) {
        return false;
    }
    const auto bytes = bytes_of(entry);
    Scratch::Extent extent;
    std::shared_ptr<SpillWrite> task;
    const auto written = file_.write(bytes, patience, extent, task);
    const std::lock_guard lock(mutex_);
    entry->moving = false;
    if (entry->bytes != bytes) { // pack() replaced the bytes during the write
        file_.leave(extent);
        return true;
    }
    // The write task still holds the bytes: releasing entry->bytes would free no memory
    if (written == SpillFile::Written::late) {
        entry->late = std::move(task);
        return otherwise == Else::forget;
    }
    if (written == SpillFile::Written::no && otherwise == Else::stay) {
        return false;
    }
    order_.remove(*entry);
    figures_.memory -= entry->size;
    figures_.disk += extent.size;
    figures_.count -= extent.size > 0 || !entry->wanted ? 0 : 1;
    entry->extent = extent;
    entry->bytes.reset();
    entry->claim.release();
    return true;
}

void KvStateStore::spill(std::uint64_t bytes) {
    const auto before = figures().memory;
    const auto after = before - std::min(before, bytes);
    while (!file_.stops() && figures().memory > after &&
           spill_next(true, Else::forget, SpillFile::patience_for(before))) {
    }
}

// Returns true if the states in memory use more bytes than are still free within both `most_` and the budget.
bool KvStateStore::is_crowded() const {
    const auto memory = figures().memory;
    return memory > 0 && memory > std::min(most_ - std::min(most_, memory), ledger_.free());
}

bool KvStateStore::is_untidy() const {
    if (file_.has_left()) {
        return true;
    }
    {
        const std::lock_guard lock(mutex_);
        if (!order_.has_unpacked() && (file_.cannot_write() || !order_.has_unpinned())) {
            return false;
        }
    }
    return is_crowded();
}

void KvStateStore::tidy() {
    file_.sweep();
    if (is_crowded()) {
        pack();
    }
    while (!file_.stops() && is_crowded() && spill_next(false, Else::stay, SpillFile::kPatient)) {
    }
}

void KvStateStore::pack() {
    while (!file_.stops()) {
        std::shared_ptr<Entry> entry;
        {
            const std::lock_guard lock(mutex_);
            entry = order_.next_to_pack();
        }
        if (entry == nullptr) {
            return;
        }
        pack(entry);
    }
}

// Delta-compresses an entry's state against the most similar uncompressed state. If no state is similar, or
// compression saves less than a quarter of the bytes, leaves the state uncompressed, as a possible
// prefix for later states.
void KvStateStore::pack(const std::shared_ptr<Entry>& entry) {
    const auto bytes = bytes_of(entry);
    std::string head(bytes->view().substr(std::min(entry->head, bytes->size()), SimilarStates::kHead));
    if (auto whole = similar_.find(entry->whose, head)) {
        auto smaller = packed(bytes->view(), bytes_of(whole)->view());
        if (smaller.size() < bytes->size() / 4 * 3) {
            return keep_packed(*entry, bytes, std::move(smaller), std::move(whole));
        }
    }
    similar_.add(entry->whose, std::move(head), entry);
}

void KvStateStore::keep_packed(
    Entry& entry, const SharedBytes& before, PageBuffer smaller, std::shared_ptr<Entry> like
) {
    auto bytes = std::make_shared<const PageBuffer>(std::move(smaller));
    const std::lock_guard lock(mutex_);
    if (entry.bytes != before) {
        return; // the entry was spilled while its bytes were compressed
    }
    figures_.memory -= entry.size - bytes->size();
    entry.size = bytes->size();
    entry.claim.correct(bytes->size());
    entry.bytes = std::move(bytes);
    entry.like = std::move(like);
}

bool KvStateStore::into_file(Entry& entry, const SharedBytes& bytes) {
    Scratch::Extent extent;
    std::shared_ptr<SpillWrite> task;
    const auto patience = SpillFile::patience_for(bytes->size());
    if (file_.write(bytes, patience, extent, task) != SpillFile::Written::yes) {
        return false;
    }
    const std::lock_guard lock(mutex_);
    entry.extent = extent;
    ++figures_.count;
    figures_.disk += entry.size;
    return true;
}

bool KvStateStore::is_in_memory(const State& state) const noexcept {
    const std::lock_guard lock(mutex_);
    const auto& entry = *state.entry_;
    return entry.bytes != nullptr && (entry.like == nullptr || entry.like->bytes != nullptr);
}

std::shared_ptr<KvStateStore::Fetch> KvStateStore::fetch(const Kept& state) {
    auto fetch = std::make_shared<Fetch>();
    fetch->state_ = state;
    std::vector<Scratch::Extent> missing;
    {
        const std::lock_guard lock(mutex_);
        const auto& entry = *state->entry_;
        fetch->bytes_ = entry.bytes;
        fetch->packed_ = entry.like != nullptr;
        fetch->like_ = fetch->packed_ ? entry.like->bytes : nullptr;
        fetch->whole_ = entry.whole;
        if (entry.bytes == nullptr) {
            missing.push_back(entry.extent);
        }
        if (fetch->packed_ && fetch->like_ == nullptr) {
            missing.push_back(entry.like->extent);
        }
    }
    const bool gone = std::ranges::any_of(missing, [](const auto& extent) { return extent.size == 0; });
    if (!missing.empty() && !gone) { // without a file thread, read() fails and the stream prefills again
        attempt(
            [&] { fetch->read_ = file_.start_read(std::move(missing)); }, [](sotto_status, const char*) {}
        );
    }
    return fetch;
}

SharedBytes KvStateStore::read(const Fetch& fetch) const {
    auto bytes = fetch.bytes_;
    auto like = fetch.like_;
    if (fetch.read_ != nullptr && fetch.read_->is_done()) {
        const auto& read = fetch.read_->bytes();
        bytes = bytes == nullptr ? read.front() : bytes;
        like = like == nullptr ? read.back() : like;
    }
    if (bytes == nullptr || (fetch.packed_ && like == nullptr)) {
        throw Error(SOTTO_ERROR_STATE, "the spilled KV cache is no longer available");
    }
    return StoredBytes{bytes, fetch.packed_ ? like : nullptr, fetch.whole_}.unpack();
}

SharedBytes KvStateStore::StoredBytes::unpack() const {
    return like == nullptr ? bytes
                           : std::make_shared<const PageBuffer>(unpacked(bytes->view(), like->view(), whole));
}

std::optional<KvStateStore::StoredBytes> KvStateStore::stored_bytes(const Kept& state) const {
    const std::lock_guard lock(mutex_);
    const auto& entry = *state->entry_;
    if (entry.bytes == nullptr || (entry.like != nullptr && entry.like->bytes == nullptr)) {
        return std::nullopt;
    }
    return StoredBytes{entry.bytes, entry.like != nullptr ? entry.like->bytes : nullptr, entry.whole};
}

// Returns the stored bytes of an entry. Waits for the disk if the entry has been spilled; only pack() passes
// spilled entries.
SharedBytes KvStateStore::bytes_of(const std::shared_ptr<Entry>& entry) {
    Scratch::Extent extent;
    {
        const std::lock_guard lock(mutex_);
        if (entry->bytes != nullptr) {
            return entry->bytes;
        }
        extent = entry->extent;
    }
    return file_.read(extent);
}

void KvStateStore::pin(Entry& entry, bool pinned) noexcept {
    const std::lock_guard lock(mutex_);
    order_.pin(entry, pinned);
}

// Marks an entry as unwanted, because its owner was destroyed: the state cannot be restored any more.
void KvStateStore::let_go(Entry& entry) noexcept {
    const std::lock_guard lock(mutex_);
    entry.wanted = false;
    figures_.count -= entry.bytes != nullptr || entry.extent.size > 0 ? 1 : 0;
}

// Removes an entry that is being destroyed, and its bytes in the file. No other entry uses this entry as a
// prefix any more.
void KvStateStore::drop(Entry& entry) noexcept {
    const std::lock_guard lock(mutex_);
    figures_.memory -= entry.bytes != nullptr ? entry.size : 0;
    figures_.disk -= entry.extent.size;
    order_.remove(entry);
    file_.leave(entry.extent);
}

KvStateStore::Figures KvStateStore::figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
}

} // namespace sotto
