#pragma once

#include <cstddef>
#include <string>

namespace SottoCore
{

/** Longest name of a conversation, in bytes of UTF-8. */
constexpr size_t kMaxName = 128;

/**
 * Returns a name that the library takes as the name of a conversation.
 *
 * A longer name than kMaxName keeps its end, which says most, and gets a hash of the whole name in front.
 */
std::string FitName(const std::string& Name);

} // namespace SottoCore
