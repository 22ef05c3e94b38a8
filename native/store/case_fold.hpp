// Simple case folding of Unicode text, one character to one.
#pragma once

#include <string>
#include <string_view>

namespace sotto::store {

// Returns `text` with each character replaced by its simple case folding, so that texts that differ in case
// only compare equal. Bytes that are not UTF-8 stay as they are.
std::string folded(std::string_view text);

} // namespace sotto::store
