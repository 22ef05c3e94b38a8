// What finds something in a text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::guard {

// A place in a text that a checker objects to, in bytes.
struct Finding {
    std::size_t begin;
    std::size_t end;
};

struct Scan {
    std::vector<Finding> findings; // in order, not overlapping; each ends at or before `open`
    std::size_t open;              // from here on, text that follows can change what is found
};

// Immutable once built. Any thread may use it.
class TextChecker {
public:
    virtual ~TextChecker() = default;

    // Looks at well-formed UTF-8 from byte `from` on; the text before is context. `whole`: no text follows.
    virtual Scan scan(std::string_view text, std::size_t from, bool whole) const = 0;
};

// Sorts findings and removes those that overlap an earlier one.
void remove_overlaps(std::vector<Finding>& findings);

} // namespace sotto::guard
