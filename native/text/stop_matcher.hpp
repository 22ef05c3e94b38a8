// Finds stop sequences in streamed text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

// Holds back text that may be the start of a stop sequence, so that no part of a stop sequence is ever
// output.
class StopMatcher {
public:
    explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

    // Adds a stop sequence. Call it before the first feed().
    void add(std::string stop) { stops_.push_back(std::move(stop)); }

    // Consumes text and appends to `out` the part that cannot belong to a stop sequence. Returns true once a
    // stop sequence is found; the text before it has then been appended, and nothing follows. The stop
    // sequence that completes first wins; if two end at the same byte, the longer one.
    bool feed(std::string_view text, std::string& out);

    // Returns the stop sequence that feed() found; empty if none.
    std::string_view found() const noexcept {
        return found_ == kNone ? "" : std::string_view(stops_[found_]);
    }

    // Ends the text: appends the text held back, which can no longer become a stop sequence.
    void finish(std::string& out);

private:
    static constexpr std::size_t kNone = SIZE_MAX;

    std::vector<std::string> stops_;
    std::size_t found_ = kNone; // index of the stop sequence found
    std::string held_;
};

} // namespace sotto
