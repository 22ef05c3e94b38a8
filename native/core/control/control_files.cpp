// What waits for a file: requests that save and restore states, and streams whose parked state is on disk.
#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "core/control/control.hpp"

namespace sotto {

// Restoring begins with the file; answer() goes on once it was read.
void Control::read_state(Slot& slot, const std::string& path, const ModelInfo& info) {
    file_requests_.reserve(file_requests_.size() + 1);
    auto task = std::make_shared<StateRead>(path, world_.hooks, max_state_size(info));
    teller_.accepted(slot);
    files_.start(task);
    file_requests_.push_back({&slot, std::move(task)});
}

// Saving ends with the file, and the stream before: its place is for others.
void Control::write_state(Stream& stream) {
    auto& reply = *stream.reply;
    file_requests_.reserve(file_requests_.size() + 1);
    auto task =
        std::make_shared<StateWrite>(reply.prompted.path, std::move(stream.saved), stream.saved_tokens);
    files_.start(task);
    file_requests_.push_back({&reply.slot, std::move(task)});
    reply.over = true;
    conclude(stream);
}

bool Control::take_files() noexcept {
    bool any = false;
    for (std::size_t i = 0; i < file_requests_.size();) {
        if (!file_requests_[i].task->is_done()) {
            ++i;
            continue;
        }
        const auto request = std::move(file_requests_[i]);
        file_requests_.erase(file_requests_.begin() + static_cast<std::ptrdiff_t>(i));
        file_done(*request.slot, *request.task);
        any = true;
    }
    for (Stream* stream : fetching_) {
        if (stream->awaits_fetch && may_fetch(*stream)) {
            stream->awaits_fetch = stream->busy = false; // the scheduler looks at it again
            any = true;
        }
    }
    std::erase_if(fetching_, [](const Stream* stream) {
        return stream->fetch == nullptr && !stream->awaits_fetch;
    });
    return any;
}

void Control::file_done(Slot& slot, StateTask& task) noexcept {
    const auto go_on = [&] {
        if (task.failure()) {
            throw Error(task.failure().status, task.failure().why);
        }
        if (auto* read = dynamic_cast<StateRead*>(&task)) {
            slot.asked.state = std::make_shared<const PageBuffer>(read->take());
            answer(slot);
        } else {
            teller_.answered(slot, static_cast<StateWrite&>(task).response());
        }
    };
    attempt(go_on, [&](sotto_status status, const char* why) { teller_.done(slot, status, why); });
}

// What is being written is written, and nobody hears of it.
bool Control::cancel_file(const Slot& slot) noexcept {
    const auto found = std::ranges::find(file_requests_, &slot, &FileRequest::slot);
    if (found == file_requests_.end()) {
        return false;
    }
    found->task->give_up();
    file_requests_.erase(found);
    return true;
}

void Control::leave_files(std::string_view why) noexcept {
    for (const auto& request : std::exchange(file_requests_, {})) {
        request.task->give_up();
        teller_.done(*request.slot, SOTTO_ERROR_CANCELLED, why);
    }
}

// What could not be remembered is not tried again.
void Control::forget_useless(const Job& job, const Stream& stream) noexcept {
    if (job.useless && stream.session != nullptr && stream.session->kept == job.recalls) {
        stream.session->kept.reset();
    }
}

// What its session keeps of a stream that is to be opened.
Parking::Kept Control::kept_of(const Stream& stream) const noexcept {
    const auto& session = stream.reply->turn.session();
    const bool fits = session != nullptr && session->kept_by == stream.entry.asked.id &&
                      session->kept_group == stream.terms.group;
    return fits ? session->kept : nullptr;
}

// Whether the stream that is to get a place has to wait for what it recalls. Others go on meanwhile.
bool Control::awaits_fetch(const Slice& slice) {
    constexpr std::int64_t kPatience = 1'000'000'000; // then its text is worked through again
    if (slice.kind != Slice::Kind::open && slice.kind != Slice::Kind::unpark) {
        return false;
    }
    auto& stream = static_cast<Stream&>(*slice.shares.front().stream);
    const auto kept = slice.kind == Slice::Kind::unpark ? stream.kept : kept_of(stream);
    if (stream.fetch != nullptr && !stream.fetch->is_of(kept)) {
        stream.fetch.reset();
    }
    if (kept == nullptr) {
        return false;
    }
    if (std::ranges::find(fetching_, &stream) == fetching_.end()) {
        fetching_.push_back(&stream);
    }
    const auto now = world_.clock.now();
    if (stream.fetch == nullptr && (world_.parking.is_in_memory(*kept) || may_fetch(stream))) {
        stream.fetch = world_.parking.fetch(kept);
        stream.fetch_until = now + kPatience;
    }
    stream.busy = stream.awaits_fetch =
        stream.fetch == nullptr || (!stream.fetch->is_done() && now < stream.fetch_until);
    return stream.busy;
}

// Whether a stream may go on with what it recalls, or fetch it: few at a time do, as it takes memory.
bool Control::may_fetch(const Stream& stream) noexcept {
    constexpr std::ptrdiff_t kMaxFetches = 2;
    if (stream.fetch != nullptr) {
        return stream.fetch->is_done() || world_.clock.now() >= stream.fetch_until;
    }
    const auto has_fetch = [](const auto& other) { return other->fetch != nullptr; };
    if (std::ranges::count_if(fetching_, has_fetch) < kMaxFetches) {
        return true;
    }
    const auto unused = std::ranges::find_if(fetching_, [&](const auto& other) {
        return other->fetch != nullptr && !other->busy && other->fetch->is_done();
    });
    if (unused != fetching_.end()) {
        (*unused)->fetch.reset(); // it has no place to go to yet, and reads it again
    }
    return unused != fetching_.end();
}

std::int64_t Control::fetch_due() const noexcept {
    auto due = kNever;
    for (const Stream* stream : fetching_) {
        if (stream->awaits_fetch && stream->fetch != nullptr) {
            due = std::min(due, stream->fetch_until);
        }
    }
    return due;
}

} // namespace sotto
