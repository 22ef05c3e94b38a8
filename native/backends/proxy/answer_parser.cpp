#include "backends/proxy/answer_parser.hpp"

#include <algorithm>
#include <utility>

#include "backends/proxy/text.hpp"

namespace sotto::proxy {

const std::string& AnswerParser::parse(std::string_view text) {
    constexpr std::string_view kMarks = "\x02\x03\x04";
    auto deltas = Json::array();
    read_ = std::min(read_, text.size());
    while (read_ < text.size()) {
        const auto end = std::min(text.find_first_of(kMarks, read_), text.size());
        if (end > read_) {
            const char* kind = mark_ == kReasoningMark ? "reasoning_content" : "content";
            deltas.push_back({{kind, std::string(text.substr(read_, end - read_))}});
        }
        read_ = end;
        if (read_ == text.size()) {
            break;
        }
        if (const char mark = text[read_++]; mark != kCallMark) {
            mark_ = mark;
        } else if (next_call_ < calls_.size()) {
            deltas.push_back({{"tool_calls", Json::parse(std::exchange(calls_[next_call_++], {}))}});
        }
    }
    deltas_ = text_of(deltas);
    return deltas_;
}

} // namespace sotto::proxy
