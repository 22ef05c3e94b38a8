// Starts requests: from the host's submission to the streams that answer it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/control/active_streams.hpp"
#include "core/control/admission.hpp"
#include "core/control/event_sender.hpp"
#include "core/control/field_warnings.hpp"
#include "core/control/incoming_requests.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/state_files.hpp"
#include "core/control/world.hpp"
#include "core/session/sessions.hpp"

namespace sotto {

// Control thread only.
class RequestIntake {
public:
    // `wake`: notified when the session names of a large request are known, and when the file of a saved
    // state was read or written.
    RequestIntake(
        const World& world,
        ActiveStreams& streams,
        Admission& admission,
        RequestEnder& ender,
        EventSender& sender,
        Signal& wake
    );

    // Starts a request for an answer. If it throws, no reference to the slot is kept.
    void add(Slot& slot);
    // Removes a cancelled request that has no stream. Returns false if it is not here.
    bool drop(const Slot& slot) noexcept;
    // End all requests that are being read, or whose file is not done.
    void cancel_reading(std::string_view why) noexcept;
    void cancel_files(std::string_view why) noexcept;
    // Returns true if no request is being read.
    bool is_empty() const noexcept { return incoming_.is_empty(); }

    // Continue with the requests that were read, that were prepared, and
    // whose file is done. Each returns true if anything changed.
    bool take_read() noexcept;
    bool take_prepared() noexcept;
    bool take_files() noexcept;

    const Sessions& sessions() const noexcept { return sessions_; }
    StateFiles& files() noexcept { return files_; }

private:
    void proceed(Incoming& incoming);
    void finish_reading(Incoming& incoming) noexcept;
    void answer(Slot& slot, ParsedRequest parsed);
    void start(Slot& slot, ModelEntry& entry, ParsedRequest parsed, Turn turn);
    std::vector<std::unique_ptr<Stream>> streams_for(const std::shared_ptr<Reply>& reply, ModelEntry& entry);
    void file_done(Slot& slot, StateTask& task) noexcept;

    const Settings& settings_;
    const Clock& clock_;
    Registry& registry_;
    ActiveStreams& streams_;
    Admission& admission_;
    RequestEnder& ender_;
    EventSender& sender_;
    FieldWarnings warnings_;
    Sessions sessions_;
    IncomingRequests incoming_;
    StateFiles files_;
};

} // namespace sotto
