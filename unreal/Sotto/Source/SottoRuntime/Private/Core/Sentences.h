#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace SottoCore
{

/**
 * Splits streamed text into sentences, for speech synthesis and lip sync.
 *
 * A sentence ends after `.`, `!`, `?` or their counterparts in other scripts, together with the closing
 * quotes that follow, where white space comes next; also at a line break. Abbreviations and initials ("Mr.",
 * "J.") do not end a sentence. The fullwidth marks of Chinese and Japanese need no white space after them.
 */
class FSentences
{
public:
    /** Adds text, which must consist of whole UTF-8 characters, and appends the sentences that are complete.
     */
    void Feed(std::string_view Text, std::vector<std::string>& Sentences);

    /** Appends the rest of the text as the last sentence, if it is not blank. */
    void Finish(std::vector<std::string>& Sentences);

private:
    void Cut(size_t End, std::vector<std::string>& Sentences);

    std::string Pending; // what belongs to no complete sentence yet
};

} // namespace SottoCore
