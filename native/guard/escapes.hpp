// Finds what JSON hides: a string's escapes, such as \u0064, stand for other characters.
#pragma once

#include <string>
#include <string_view>

#include "guard/checker.hpp"

namespace sotto::guard {

// Scans as TextChecker::scan() does, the text as it is written and with its escapes replaced by the
// characters that they stand for. A finding contains whole escapes. Nothing is found inside an escape. A text
// without backslashes is scanned once.
Scan scan_escaped(const TextChecker& checker, std::string_view text, std::size_t from, bool whole);

// Returns true if a cut at `at` separates a backslash from the character that it escapes.
bool splits_escape(std::string_view text, std::size_t at) noexcept;

// Returns the text with its escapes replaced.
std::string unescaped(std::string_view text);

} // namespace sotto::guard
