// Turns a regular expression into one that matches every beginning of what it matches.
#pragma once

#include <string>

namespace re2 {
class Regexp;
}

namespace sotto::guard {

// Returns an expression, in RE2's syntax, that matches all beginnings of the texts which `expression`
// matches, the whole text and the empty one included. Takes assertions such as \b for met, so it may match
// more.
std::string prefix_expression(re2::Regexp& expression);

} // namespace sotto::guard
