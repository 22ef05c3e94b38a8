// Finds stop sequences in text that arrives in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sotto {

// Holds back text that may be the beginning of a stop sequence, so that no part of one is ever shown.
class StopMatcher {
public:
    explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

    // One more to look for, before any text came.
    void add(std::string stop) { stops_.push_back(std::move(stop)); }

    // Takes more text; appends to `out` what is surely not part of a stop sequence. True once one is
    // found: the text before it has been appended, and nothing more will be. The one that is whole first
    // counts; of two that end together, the longer.
    bool feed(std::string_view text, std::string& out);

    // The text is over: what was held back is text after all.
    void finish(std::string& out);

private:
    std::vector<std::string> stops_;
    std::string held_;
};

} // namespace sotto
