#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "core/session/responses.hpp"
#include "core/session/session_body.hpp"
#include "core/session/sessions.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

// Returns the size in bytes of the messages in a JSON array, with commas.
std::size_t length_of(const std::vector<Message>& messages) noexcept {
    std::size_t length = 0;
    for (const auto& message : messages) {
        length += message->size() + 1; // plus a comma
    }
    return length;
}

// Returns the system message with `text` before its own, so that a prompt has one system message.
std::string merged(const std::string& text, const std::string& system) {
    auto message = parse_ordered(system);
    auto& content = message["content"];
    if (content.is_string()) {
        content = text + "\n\n" + content.get<std::string>();
    } else if (content.is_array()) {
        content.insert(content.begin(), Ordered{{"type", "text"}, {"text", text + "\n\n"}});
    }
    return to_text(message);
}

} // namespace

void append(std::vector<Message>& messages, std::vector<std::string> more) {
    for (auto& message : more) {
        messages.push_back(std::make_shared<const std::string>(std::move(message)));
    }
}

PageString
whole_body(const std::vector<Message>& before, const InSession& requested, const std::string& instructions) {
    PageString whole;
    std::size_t length = 0;
    for (const auto& message : requested.messages) {
        length += message.size() + 1;
    }
    whole.reserve(length_of(before) + length + instructions.size() + requested.rest.size() + 64);
    whole = R"({"messages":[)";
    std::size_t count = 0;
    const auto& first = !before.empty() ? *before.front() : requested.messages.front();
    const bool merges = !instructions.empty() && is_system(first);
    const auto put = [&](const std::string& message) {
        whole += count == 0 ? "" : ",";
        whole += count++ == 0 && merges ? merged(instructions, message) : message;
    };
    if (!instructions.empty() && !merges) {
        put(R"({"role":"system","content":)" + sotto::quoted(instructions) + "}");
    }
    for (const auto& message : before) {
        put(*message);
    }
    for (const auto& message : requested.messages) {
        put(message);
    }
    whole += requested.rest == "{}" ? "]" : "],";
    whole.append(requested.rest, 1); // skips the opening brace
    return whole;
}

PageString whole_body(const TokenRun& before, const InSession& requested) {
    constexpr std::size_t kLongest = 11; // digits of a token, with a comma
    PageString whole;
    whole.reserve((before.size() + requested.tokens.size()) * kLongest + requested.rest.size() + 16);
    whole = R"({"prompt":[)";
    std::size_t count = 0;
    for (const auto* tokens : {&before.tokens(), &requested.tokens}) {
        for (const auto token : *tokens) {
            char digits[kLongest + 1];
            const auto end = std::to_chars(std::begin(digits), std::end(digits), token).ptr;
            whole += count++ == 0 ? "" : ",";
            whole.append(digits, end);
        }
    }
    whole += requested.rest == "{}" ? "]" : "],";
    whole.append(requested.rest, 1); // skips the opening brace
    return whole;
}

Turn::Turn(
    std::shared_ptr<Session> session,
    sotto_request request,
    std::string model,
    InSession requested,
    Responses* responses,
    std::string id
)
    : session_(std::move(session)), responses_(responses), id_(std::move(id)), model_(std::move(model)),
      continues_(requested.continues) {
    append(asked_, std::move(requested.messages));
    asked_tokens_ = std::move(requested.tokens);
    session_->answers = request; // no exceptions from here on
}

Turn::~Turn() {
    if (!remembered_) {
        forget();
    }
}

void Turn::remember(const CompleteAnswer& complete) {
    if (session_ == nullptr) {
        return;
    }
    if (session_->talk.run) {
        remember_tokens(complete);
    } else {
        remember_messages(complete);
    }
    auto& model = session_->talk.model; // no exceptions, unless responses_ is set
    had_model_ = !model.empty();
    if (!had_model_) {
        model = std::move(model_);
    }
    session_->answers = 0;
    remembered_ = true;
    if (responses_ != nullptr) {
        struct Undo {
            Turn* turn;
            ~Undo() {
                if (turn != nullptr) {
                    turn->forget();
                }
            }
        } undo{this};
        responses_->add(id_, session_);
        undo.turn = nullptr;
    }
}

void Turn::remember_tokens(const CompleteAnswer& complete) {
    auto& run = *session_->talk.run;
    auto added = asked_tokens_;
    added.reserve(added.size() + complete.reports.size());
    for (const auto& report : complete.reports) {
        added.push_back(report.id);
    }
    messages_ = run.size();
    run.append(added);
}

void Turn::remember_messages(const CompleteAnswer& complete) {
    auto& messages = session_->talk.messages;
    const auto answer = continues_ ? continued(*(asked_.empty() ? messages : asked_).back(), complete)
                                   : Writer::message(complete);
    auto message = std::make_shared<const std::string>(answer); // copied, to release unused capacity
    if (const auto needed = messages.size() + asked_.size() + 1; needed > messages.capacity()) {
        messages.reserve(std::max(needed, 2 * messages.size()));
    }
    messages_ = messages.size(); // no exceptions from here on
    last_ = messages.empty() ? nullptr : messages.back();
    messages.insert(messages.end(), asked_.begin(), asked_.end());
    if (continues_) {
        messages.back() = std::move(message);
    } else {
        messages.push_back(std::move(message));
    }
}

void Turn::forget() noexcept {
    if (session_ == nullptr) {
        return;
    }
    if (remembered_) {
        if (responses_ != nullptr) {
            responses_->remove(id_);
        }
        auto& model = session_->talk.model;
        auto& messages = session_->talk.messages;
        if (auto& run = session_->talk.run) {
            run->keep(messages_);
        } else {
            messages.resize(messages_);
        }
        if (!messages.empty()) {
            messages.back() = std::move(last_);
        }
        if (!had_model_) {
            model.clear();
        }
    }
    session_->answers = 0;
    session_.reset();
}

} // namespace sotto
