#include "text/stop_matcher.hpp"

#include <algorithm>
#include <utility>

namespace sotto {
namespace {

// Returns the length of the longest suffix of `text` that is a proper prefix of `stop`.
std::size_t overlap(std::string_view text, std::string_view stop) noexcept {
    for (std::size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
        if (text.substr(text.size() - length) == stop.substr(0, length)) {
            return length;
        }
    }
    return 0;
}

} // namespace

bool StopMatcher::feed(std::string_view text, std::string& out) {
    if (stops_.empty()) {
        out += text;
        return false;
    }
    held_ += text;
    std::size_t first = std::string::npos;
    // end of the match that completes first, independent of how the text was split
    std::size_t end = std::string::npos;
    std::size_t keep = 0;
    for (std::size_t i = 0; i < stops_.size(); ++i) {
        const auto& stop = stops_[i];
        const auto at = held_.find(stop);
        if (at != std::string::npos && std::pair(at + stop.size(), at) < std::pair(end, first)) {
            first = at;
            end = at + stop.size();
            found_ = i;
        }
        keep = std::max(keep, overlap(held_, stop));
    }
    if (first != std::string::npos) {
        out.append(held_, 0, first);
        held_.clear();
        return true;
    }
    out.append(held_, 0, held_.size() - keep);
    held_.erase(0, held_.size() - keep);
    return false;
}

void StopMatcher::finish(std::string& out) {
    out += held_;
    held_.clear();
}

} // namespace sotto
