#include "core/session/responses.hpp"

#include <random>
#include <utility>

#include "base/error.hpp"
#include "text/json_reader.hpp"

namespace sotto {
namespace {

// Returns an id that no other response has, in this process or in a save game.
std::string fresh_id() {
    constexpr const char* kDigits = "0123456789abcdef";
    std::random_device random;
    std::string id = "resp-";
    for (int i = 0; i < 4; ++i) {
        for (auto bits = random(), digit = 0u; digit < 8; ++digit, bits >>= 4) {
            id += kDigits[bits & 15];
        }
    }
    return id;
}

// Bytes that a stored message takes.
std::size_t size_of(const Message& message) noexcept {
    return message->size() + sizeof *message;
}

} // namespace

Turn Responses::begin(sotto_request request, ParsedRequest& parsed, PageString& body) {
    auto& terms = *parsed.respond;
    const auto session = std::make_shared<Session>();
    session->talk.model = parsed.model;
    if (!terms.previous.empty()) {
        session->talk.messages = use(terms.previous).talk.messages;
    }
    terms.id = fresh_id();
    body = whole_body(session->talk.messages, parsed.session, terms.instructions);
    return terms.store ? Turn(session, request, parsed.model, std::move(parsed.session), this, terms.id)
                       : Turn();
}

const Session* Responses::find(const std::string& id) const noexcept {
    const auto found = stored_.find(id);
    return found == stored_.end() ? nullptr : found->second.conversation.get();
}

const Session& Responses::use(const std::string& id) {
    const auto found = stored_.find(id);
    if (found == stored_.end()) {
        throw invalid_argument(
            "previous_response_id",
            excerpt(id),
            "the id of a stored response (it may have been dropped: the engine stores " +
                std::to_string(max_count_) + "); send the conversation as input"
        );
    }
    used_.splice(used_.end(), used_, found->second.use);
    return *found->second.conversation;
}

void Responses::add(const std::string& id, std::shared_ptr<const Session> conversation) {
    std::list<std::string> use = {id};
    const auto& messages = conversation->talk.messages;
    for (const auto& message : messages) {
        shared_.try_emplace(message.get(), 0); // if this throws, unused counts stay until they are used
    }
    stored_.insert_or_assign(id, Stored{conversation, use.begin()}); // nothing throws from here on
    for (const auto& message : messages) {
        bytes_ += shared_.find(message.get())->second++ == 0 ? size_of(message) : 0;
    }
    bytes_ += messages.size() * sizeof(Message);
    used_.splice(used_.end(), use);
    while (stored_.size() > max_count_ || bytes_ > max_bytes_) {
        remove(used_.front());
    }
}

void Responses::remove(const std::string& id) noexcept {
    const auto found = stored_.find(id);
    if (found == stored_.end()) {
        return;
    }
    const auto& messages = found->second.conversation->talk.messages;
    for (const auto& message : messages) {
        release(message);
    }
    bytes_ -= messages.size() * sizeof(Message);
    used_.erase(found->second.use); // `id` may be its text
    stored_.erase(found);
}

void Responses::release(const Message& message) noexcept {
    const auto found = shared_.find(message.get());
    if (--found->second == 0) {
        bytes_ -= size_of(message);
        shared_.erase(found);
    }
}

} // namespace sotto
