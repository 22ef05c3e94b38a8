// What the control thread does with the compute thread and the streams.
#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "core/control/control.hpp"
#include "core/control/step_time.hpp"

namespace sotto {
namespace {

// The control thread schedules nothing but streams of its own.
Stream& stream_of(ScheduledStream& stream) noexcept {
    return static_cast<Stream&>(stream);
}

} // namespace

// Throws before anything has begun, or not at all.
bool Control::start_job() {
    if (!runner_.is_idle()) {
        return false;
    }
    if (start_closing()) {
        return true;
    }
    if (duty_.rests(!streams_.is_empty()) || streams_.is_empty()) {
        return false;
    }
    if (!classes_.settle(compute_.yields(ThreadClass::idle))) {
        return false;
    }
    scheduler_.look();
    const auto slice = scheduler_.next(world_.clock.now(), duty_.limits());
    if (slice.kind == Slice::Kind::none) {
        return false;
    }
    if (awaits_fetch(slice) || !has_thread_for(slice)) {
        return true;
    }
    begin(job_of(slice));
    look_ahead();
    return true;
}

// Begins a job that closes streams, frees unloaded adapters that no request uses, and loads the next one.
bool Control::start_closing() {
    for (const auto& entry : world_.registry.entries()) {
        if (entry->closing.empty() && !AdapterChanges::need_job(*entry)) {
            continue;
        }
        auto job = job_of(*entry);
        job->closing = entry->closing; // a copy, so that what was reserved stays
        adapters_.add_to(*job, *entry);
        entry->closing.clear();
        begin(std::move(job));
        return true;
    }
    return false;
}

// Fails what a slice is about where no thread can be started for it.
bool Control::has_thread_for(const Slice& slice) noexcept {
    bool has = true;
    const auto& entry = static_cast<Stream&>(*slice.shares.front().stream).entry;
    attempt(
        [&] { compute_.prepare(classes_.of(entry)); },
        [&](sotto_status status, const char* why) {
            has = false;
            for (const auto& share : slice.shares) {
                fail(static_cast<Stream&>(*share.stream), status, why);
            }
        }
    );
    return has;
}

std::unique_ptr<Job> Control::job_of(ModelEntry& entry) {
    auto job = std::make_unique<Job>();
    job->entry = &entry;
    job->thread_class = compute_.prepare_any(classes_.of(entry)); // once: the mode may change at any time
    duty_.begins(entry);
    job->threads = duty_.threads_for(entry, job->thread_class);
    job->tries = entry.thread_count.tries();
    job->gate_limit = duty_.gate_limit(*job);
    job->mode = mode();
    job->share = static_cast<float>(duty_.share());
    return job;
}

std::unique_ptr<Job> Control::job_of(const Slice& slice) {
    auto& entry = stream_of(*slice.shares.front().stream).entry;
    auto job = job_of(entry);
    for (const auto& share : slice.shares) {
        auto& stream = stream_of(*share.stream);
        sotto_step_item work{};
        work.struct_size = sizeof work;
        work.tokens = share.tokens;
        work.remaining = stream.remaining;
        work.decoded = 1;
        work.stream = stream.handle;
        job->work.push_back(work);
        job->streams.push_back(&stream);
    }
    job->heard.resize(job->work.size());
    job->failures.resize(job->work.size());
    entry.costs.prepare(job->threads);
    job->load = slice.load;
    job->limit = slice.limit;
    job->predicted = entry.costs.predict(job->threads, slice.load);
    job->patience = patience_of(*job, world_.settings.is(SOTTO_ENGINE_DETERMINISTIC));
    if (slice.kind == Slice::Kind::open || slice.kind == Slice::Kind::unpark) {
        const auto& stream = *job->streams.front();
        job->opens = slice.kind == Slice::Kind::open;
        job->unparks = !job->opens;
        job->op = stream.reply->op;
        job->body = &stream.reply->body;
        job->index = stream.index;
        job->adapters = &stream.reply->adapters;
        job->path = &stream.reply->prompted.path;
        job->flags = stream_flags(world_.settings);
        job->state = stream.reply->state.get();
        job->recalls = job->unparks ? stream.kept : kept_of(stream);
        entry.closing.reserve(entry.closing.size() + entry.resting.size() + streams_.all().size());
        entry.resting.reserve(entry.most_streams); // so that retire() cannot fail
        job->closing.reserve(1);                   // nothing throws from here on
        if (job->opens) {
            pins_.hand_over(entry, stream.session.get(), job->closing);
            job->prepared = std::exchange(job->streams.front()->prepared.handle, nullptr);
        }
        if (slice.parks != nullptr) {
            job->parks = &stream_of(*slice.parks);
            slice.parks->busy = true;
            --entry.open_streams;
        }
        ++entry.open_streams;
        job->fetched = std::move(stream_of(*slice.shares.front().stream).fetch);
    }
    return job;
}

void Control::begin(std::unique_ptr<Job> job) noexcept {
    if (const auto since = duty_.end_rest(); since != 0) {
        slices_.add_rest(since, world_.clock.now(), mode(), duty_.share());
    }
    runner_.begin(std::move(job));
}

// Has the compute thread go on by itself where there is nothing else to do: to ask here before each token
// costs more time than the smallest models need for it.
void Control::look_ahead() noexcept {
    const auto closes = [](const auto& entry) { return !entry->closing.empty(); };
    const auto& entries = world_.registry.entries();
    const bool steps = !runner_.is_idle() && runner_.job()->steps();
    if (!steps || runner_.has_next() || std::any_of(entries.begin(), entries.end(), closes) ||
        duty_.share() < 1 || duty_.pauses() || world_.settings.is(SOTTO_ENGINE_DETERMINISTIC)) {
        return;
    }
    scheduler_.look();
    if (!scheduler_.goes_on(world_.clock.now())) {
        return;
    }
    const auto body = [&] {
        Slice slice;
        slice.kind = Slice::Kind::step;
        for (Stream* stream : runner_.job()->streams) {
            slice.shares.push_back({stream, 0});
            slice.load.add_answer(stream->context() + 1);
        }
        runner_.follow_with(job_of(slice));
    };
    attempt(body, [](sotto_status, const char*) {}); // it is only later by the way through here
}

bool Control::take_job_back() noexcept {
    const auto job = runner_.take_done();
    if (job == nullptr) {
        return false;
    }
    job->entry->served_ns += job->ended - job->began;
    if (auto& failure = job->failure; failure.status == SOTTO_ERROR_DEVICE) {
        const auto lose = [&] {
            auto& entry = *job->entry;
            if (entry.device.load() == 0) {
                entry.device = world_.card.own(); // whatever its backend is called
            }
            world_.card.lose(entry.device.load(), failure.why);
            failure.why = "the device was lost: submit the request again (" + failure.why + ")";
        };
        attempt(lose, [](sotto_status, const char*) {}); // the next step on it says so again
    }
    if (job->prepared != nullptr) { // it did not come to that
        job->entry->model->close_prepared(std::exchange(job->prepared, nullptr));
    }
    slices_.add(*job);
    learn_step(*job, world_.recorder);
    classes_.learn(*job);
    duty_.ended(*job);
    closed(*job);
    if (job->loads != nullptr) {
        adapters_.loaded(*job);
    }
    if (job->resizes) {
        resized(*job);
        return true;
    }
    if (job->parks != nullptr) {
        parked(*job->parks);
    }
    for (Stream* stream : job->streams) {
        stream->busy = !runner_.is_idle();
    }
    for (std::size_t i = 0; i < job->streams.size(); ++i) {
        Stream& stream = *job->streams[i];
        if (job->opens) {
            forget_useless(*job, stream);
            opened(*job, stream);
        } else if (job->unparks) {
            unparked(*job, stream);
        } else if (stream.state == Stream::State::over) {
            retire(stream);
        } else if (const auto& failure = job->failure ? job->failure : job->failures[i]) {
            fail(stream, failure.status, failure.why);
        } else {
            attempt(
                [&] { stepped(stream, job->work[i], job->heard[i]); },
                [&](sotto_status status, const char* why) { fail(stream, status, why); }
            );
        }
    }
    look_ahead();
    return true;
}

void Control::closed(const Job& job) noexcept {
    job.entry->open_streams -= static_cast<std::uint32_t>(job.closing.size());
    for (const auto& one : job.closing) {
        if (one.session != nullptr) {
            auto& session = *one.session;
            session.kept.reset();
            attempt(
                [&] {
                    session.kept_by = job.entry->asked.id;
                    session.kept_group = one.group;
                    session.kept = one.kept;
                },
                [](sotto_status, const char*) {} // then it is worked through again
            );
        }
    }
}

// Where there are more sessions than places, what a model remembers of one is lost before its next turn.
void Control::keep(Stream& stream) noexcept {
    const bool alone = world_.settings.is(SOTTO_ENGINE_DETERMINISTIC);
    const bool matters = stream.session != nullptr && stream.session->pinned;
    if (!alone && (matters || sessions_.count() > stream.entry.traits.streams)) {
        stream.keeps = stream.reply->turn.session();
    }
}

void Control::parked(Stream& stream) noexcept {
    stream.busy = false;
    stream.session = stream.state == Stream::State::over ? nullptr : stream.session; // it has no place
    if (stream.state == Stream::State::over) {
        ++stream.entry.open_streams; // it is closed like any other
        retire(stream);
    } else {
        stream.state = Stream::State::parked;
    }
}

void Control::unparked(const Job& job, Stream& stream) noexcept {
    stream.session = job.failure ? nullptr : stream.session; // it has no place
    if (stream.state == Stream::State::over) {
        retire(stream);
        return;
    }
    stream.unparked(job.unparked);
    stream.kept.reset();
    if (job.failure) {
        fail(stream, job.failure.status, job.failure.why);
    }
}

void Control::opened(Job& job, Stream& stream) noexcept {
    stream.handle = job.opened.stream;
    preparer_.retry();
    if (stream.handle == nullptr) {
        --stream.entry.open_streams;
    }
    if (stream.state == Stream::State::over) {
        retire(stream);
    } else if (job.failure) {
        fail(stream, job.failure.status, job.failure.why);
    } else if (stream.handle == nullptr) {
        answered(stream, std::move(job.opened.result));
    } else {
        attempt(
            [&] { stream.opened(job.opened, world_.clock.now()); },
            [&](sotto_status status, const char* why) { fail(stream, status, why); }
        );
        world_.meter.remembered(stream.counts().cached);
    }
}

void Control::stepped(Stream& stream, const sotto_step_item& work, const Heard& heard) {
    const bool first = stream.counts().generated == 0 && work.generated != 0;
    stream.stepped(work.remaining, work.generated != 0, world_.clock.now());
    if (first) {
        world_.meter.began(stream.counts().first_token_ms);
    }
    if (stream.reply->op == SOTTO_OP_SAVE_STATE) {
        if (heard.last) { // the stream ends before the file does: its slot is for others
            auto& reply = *stream.reply;
            files_.write(reply.slot, reply.prompted.path, std::move(stream.saved), stream.saved_tokens);
            reply.over = true;
            conclude(stream);
        }
        return;
    }
    teller_.heard(stream, heard);
    if (heard.last) {
        stream.reply->turn.remember(stream.answer.said()); // or the request fails
        keep(stream);
        teller_.finished(stream, heard);
        conclude(stream);
    }
}

// Ends a request that is no completion.
void Control::answered(Stream& stream, std::string response) noexcept {
    stream.reply->over = true;
    teller_.answered(stream.reply->slot, std::move(response));
    conclude(stream);
}

// Ends a request, with all the streams that answer it.
void Control::fail(Stream& stream, sotto_status status, std::string_view why) noexcept {
    const auto reply = stream.reply;
    if (std::exchange(reply->over, true)) {
        return;
    }
    reply->turn.forget();
    if (reply->prompted.answers == 1) { // thousands may end at once
        teller_.done(reply->slot, status, why, stream.counts().generated);
        conclude(stream);
        return;
    }
    auto tokens = reply->counts.generated;
    for (const auto& other : streams_.all()) {
        if (other->reply == reply && other->state != Stream::State::over) {
            tokens += other->counts().generated;
            conclude(*other);
        }
    }
    teller_.done(reply->slot, status, why, tokens);
}

// The host has heard the last of it.
void Control::conclude(Stream& stream) noexcept {
    stream.busy = stream.busy && !std::exchange(stream.awaits_fetch, false);
    if (stream.state == Stream::State::parked && !stream.busy) {
        ++stream.entry.open_streams; // until it is closed
        stream.session.reset();      // it has no place
    }
    stream.state = Stream::State::over;
    stream.reply->slot.stream = nullptr;
    streams_.end(stream); // there is room for it
    preparer_.retry();
    discard_prepared(stream);
    scheduler_.remove(stream);
    retire(stream);
}

// Gives back what a stream that is over still holds. Is that in a job, the job is told to end, once
// nobody wants it any more.
void Control::retire(Stream& stream) noexcept {
    if (stream.preparing != nullptr) {
        return;
    }
    if (!stream.busy) {
        if (stream.handle != nullptr && !pins_.keep(stream)) {
            const bool pinned = stream.keeps != nullptr && stream.keeps->pinned;
            stream.entry.closing.push_back(
                {std::exchange(stream.handle, nullptr),
                 std::move(stream.keeps),
                 pinned,
                 {},
                 stream.terms.group}
            );
        }
        return;
    }
    runner_.abort_if_unwanted();
}

} // namespace sotto
