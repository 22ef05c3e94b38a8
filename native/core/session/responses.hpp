// Stored responses of the Responses API: points in conversations, from which later responses go on.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/session/sessions.hpp"

namespace sotto {

// Control thread only. Responses that continue each other share their messages.
class Responses {
public:
    static constexpr std::size_t kMaxCount = 4096;             // stored responses
    static constexpr std::size_t kMaxBytes = 64 * 1024 * 1024; // their messages, shared ones counted once

    explicit Responses(std::size_t max_count = kMaxCount, std::size_t max_bytes = kMaxBytes)
        : max_count_(max_count), max_bytes_(max_bytes) {}

    // Called when a request of SOTTO_OP_RESPOND starts. Sets the response's id in `parsed`, and replaces
    // `body` by the body of a chat with the whole conversation. Returns the turn that stores the response;
    // an empty Turn if the request asks not to store it. Throws Error(SOTTO_ERROR_ARGUMENT) if the previous
    // response is not stored.
    Turn begin(sotto_request request, ParsedRequest& parsed, PageString& body);

    // Stores a response. Drops the least recently used ones above the limits; the new one too if its
    // conversation alone exceeds them. If add() throws, nothing has changed.
    void add(const std::string& id, std::shared_ptr<const Session> conversation);
    void remove(const std::string& id) noexcept;

    std::size_t count() const noexcept { return stored_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }
    // Ids of the stored responses, the least recently used first.
    const std::list<std::string>& ids() const noexcept { return used_; }
    // Returns the conversation of a stored response; null if no response has the id.
    const Session* find(const std::string& id) const noexcept;

private:
    struct Stored {
        std::shared_ptr<const Session> conversation;
        std::list<std::string>::iterator use;
    };

    const Session& use(const std::string& id);
    void release(const Message& message) noexcept;

    const std::size_t max_count_;
    const std::size_t max_bytes_;
    std::size_t bytes_ = 0;
    std::unordered_map<std::string, Stored> stored_;
    std::list<std::string> used_;                                // least recently used first
    std::unordered_map<const std::string*, std::size_t> shared_; // number of responses with a message
};

} // namespace sotto
