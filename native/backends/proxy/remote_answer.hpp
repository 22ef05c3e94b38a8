// An answer that a thread of its own receives from a server.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "backends/proxy/chunk_reader.hpp"
#include "backends/proxy/exchange.hpp"
#include "backends/proxy/host_link.hpp"

namespace sotto::proxy {

// The thread stops reading from its connection while kMaxPieces parts, or kMaxBytes, wait to be taken: the
// server then sends no more. All functions but run() never wait.
class RemoteAnswer : private ResponseReceiver {
public:
    enum class Kind : std::uint8_t { chat, completion, data };
    enum class State : std::uint8_t { waits, piece, ended };

    RemoteAnswer(
        std::shared_ptr<const Options> options, std::shared_ptr<HostLink> host, Kind kind, Call call
    );

    // Starts the thread that receives `answer`. Throws Error(SOTTO_ERROR_MEMORY).
    static void start(const std::shared_ptr<RemoteAnswer>& answer);

    // Takes the next part of the answer. Throws the Error that ended the answer early, after its last part.
    // State::waits: nothing was received since.
    State take(Piece& piece);
    // Valid once take() has returned State::ended.
    const AnswerEnd& end() const noexcept { return reader_.end(); }
    // The response of Kind::data, likewise.
    const std::string& response() const noexcept { return response_; }

    // Closes the connection. The thread ends soon, whatever it waits for.
    void cancel() noexcept;
    const Options& options() const noexcept { return *options_; }

private:
    void run() noexcept;
    void begin(bool events) override;
    bool take(std::string_view bytes) override;
    bool put(std::vector<Piece>& pieces);
    void finish(std::optional<Error> failure) noexcept;
    bool is_late() const;

    const std::shared_ptr<const Options> options_;
    const std::shared_ptr<HostLink> host_;
    const Kind kind_;
    const Call call_;
    Cancellation cancellation_;
    ChunkReader reader_;   // of the thread, until it has ended
    std::string response_; // likewise
    struct Queue {
        std::mutex mutex; // guards the members below
        std::condition_variable taken;
        std::deque<Piece> pieces;
        std::size_t bytes = 0;
        bool ended = false;
        bool cancelled = false;
        std::optional<Error> failure;
        std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
        std::chrono::steady_clock::duration held{}; // time that the thread waited for parts to be taken
    } queue_;
};

} // namespace sotto::proxy
