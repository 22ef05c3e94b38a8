#include "backends/proxy/remote_answer.hpp"

#include <thread>
#include <utility>

#include "backends/proxy/quiet_thread.hpp"
#include "backends/proxy/text.hpp"

namespace sotto::proxy {
namespace {

constexpr std::size_t kMaxPieces = 256;
constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxResponse = 128 << 20;

using Clock = std::chrono::steady_clock;

} // namespace

RemoteAnswer::RemoteAnswer(
    std::shared_ptr<const Options> options, std::shared_ptr<HostLink> host, Kind kind, Call call
)
    : options_(std::move(options)), host_(std::move(host)), kind_(kind), call_(std::move(call)),
      reader_(kind == Kind::chat) {}

void RemoteAnswer::start(const std::shared_ptr<RemoteAnswer>& answer) {
    answer->host_->thread_begins();
    try {
        start_quiet_thread([answer] {
            const auto host = answer->host_;
            answer->run();
            host->thread_ends();
        });
    } catch (const std::exception& error) {
        answer->host_->thread_ends();
        throw Error(SOTTO_ERROR_MEMORY, std::string("no thread for the request: ") + error.what());
    }
}

RemoteAnswer::State RemoteAnswer::take(Piece& piece) {
    const std::lock_guard lock(queue_.mutex);
    if (!queue_.pieces.empty()) {
        piece = std::move(queue_.pieces.front());
        queue_.pieces.pop_front();
        queue_.bytes -= piece.bytes();
        queue_.taken.notify_all();
        return State::piece;
    }
    if (queue_.failure) {
        throw *queue_.failure;
    }
    if (queue_.ended) {
        return State::ended;
    }
    if (is_late()) {
        throw Error(
            SOTTO_ERROR_INFERENCE,
            "server '" + options_->url.server() + "' did not finish within options.timeout_ms, " +
                std::to_string(options_->timeout_ms) + " ms"
        );
    }
    return State::waits;
}

// Requires queue_.mutex. The time in which the engine took nothing does not count: paced answers take long.
bool RemoteAnswer::is_late() const {
    const auto took = Clock::now() - queue_.began - queue_.held;
    return options_->timeout_ms != 0 && took > std::chrono::milliseconds(options_->timeout_ms);
}

void RemoteAnswer::cancel() noexcept {
    {
        const std::lock_guard lock(queue_.mutex);
        queue_.cancelled = true;
        queue_.taken.notify_all();
    }
    cancellation_.cancel();
}

void RemoteAnswer::run() noexcept {
    std::optional<Error> failure;
    try {
        proxy::run(*options_, call_, cancellation_, *this);
        if (kind_ != Kind::data) {
            std::vector<Piece> pieces;
            try {
                reader_.finish(pieces);
            } catch (const Error& error) {
                const auto text = "server '" + options_->url.server() + "' " + error.what();
                failure.emplace(error.status(), options_->redact(text));
            }
            put(pieces);
        }
    } catch (const Error& error) {
        failure = error;
    } catch (const std::bad_alloc&) {
        failure.emplace(SOTTO_ERROR_MEMORY, "out of memory while an answer was received");
    } catch (const std::exception& error) {
        failure.emplace(SOTTO_ERROR_INTERNAL, options_->redact(one_line(error.what())));
    }
    finish(std::move(failure));
}

void RemoteAnswer::finish(std::optional<Error> failure) noexcept {
    {
        const std::lock_guard lock(queue_.mutex);
        queue_.failure = std::move(failure);
        queue_.ended = true;
    }
    host_->wake();
}

void RemoteAnswer::begin(bool events) {
    reader_.begin(events);
}

bool RemoteAnswer::take(std::string_view bytes) {
    if (kind_ == Kind::data) {
        if (response_.size() + bytes.size() > kMaxResponse) {
            throw Error(SOTTO_ERROR_INFERENCE, "sent a response of more than 128 MiB");
        }
        response_ += bytes;
        return !cancellation_.is_cancelled();
    }
    std::vector<Piece> pieces;
    try {
        reader_.feed(bytes, pieces);
    } catch (const Error&) {
        put(pieces); // what came before the error was said
        throw;
    }
    return put(pieces) && !reader_.is_done();
}

// Queues parts of the answer; waits while the queue is full. Returns false if cancelled.
bool RemoteAnswer::put(std::vector<Piece>& pieces) {
    for (auto& piece : pieces) {
        std::unique_lock lock(queue_.mutex);
        const auto has_room = [&] {
            return queue_.cancelled || (queue_.pieces.size() < kMaxPieces && queue_.bytes < kMaxBytes);
        };
        if (!has_room()) {
            const auto since = Clock::now();
            queue_.taken.wait(lock, has_room);
            queue_.held += Clock::now() - since;
        }
        if (queue_.cancelled) {
            return false;
        }
        queue_.bytes += piece.bytes();
        queue_.pieces.push_back(std::move(piece));
    }
    if (!pieces.empty()) {
        host_->wake();
    }
    return !cancellation_.is_cancelled();
}

} // namespace sotto::proxy
