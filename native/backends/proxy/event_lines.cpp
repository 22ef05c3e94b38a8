#include "backends/proxy/event_lines.hpp"

#include <algorithm>
#include <utility>

#include "backends/proxy/text.hpp"

namespace sotto::proxy {
namespace {

constexpr std::size_t kMaxEvent = 1 << 20;

} // namespace

void EventLines::feed(std::string_view bytes) {
    searched_ -= std::min(searched_, read_);
    pending_.erase(0, std::exchange(read_, 0));
    pending_ += bytes;
}

bool EventLines::next(std::string& data) {
    while (!is_complete_) {
        if (after_cr_ && read_ < pending_.size()) {
            read_ += pending_[read_] == '\n' ? 1 : 0;
            after_cr_ = false;
        }
        const auto end = pending_.find_first_of("\r\n", std::max(read_, searched_));
        if ((end == std::string::npos ? pending_.size() : end) - read_ + data_.size() > kMaxEvent) {
            throw Error(SOTTO_ERROR_INFERENCE, "sent an event of more than 1 MiB");
        }
        if (end == std::string::npos) {
            searched_ = pending_.size();
            return false;
        }
        after_cr_ = pending_[end] == '\r';
        end_line(std::string_view(pending_).substr(read_, end - read_));
        read_ = end + 1;
    }
    is_complete_ = has_data_ = false;
    data = std::exchange(data_, {});
    return true;
}

void EventLines::finish() {
    if (read_ < pending_.size() || has_data_) {
        pending_ += "\n\n";
    }
}

void EventLines::end_line(std::string_view line) {
    constexpr std::string_view kData = "data:";
    if (line.empty()) {
        is_complete_ = has_data_;
    } else if (line.rfind(kData, 0) == 0) {
        line.remove_prefix(kData.size());
        line.remove_prefix(!line.empty() && line.front() == ' ' ? 1 : 0);
        data_ += has_data_ ? "\n" : "";
        data_ += line;
        has_data_ = true;
    } // other fields, and comments, say nothing about the answer
}

} // namespace sotto::proxy
