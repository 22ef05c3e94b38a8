#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "Core/Store.h"

namespace SottoCore
{

/** How a character came to know something. */
enum class EMemoryKind
{
    Fact,   // told by the game
    Said,   // in a conversation
    Heard,  // overheard
    Summary // of turns
};

/** One thing that a character remembers. */
struct FMemory
{
    std::string Id;
    std::string Text;
    EMemoryKind Kind = EMemoryKind::Fact;
    double Importance = 0; // 0 to 1
    double Used = 0;       // when it was added or recalled for an answer last: seconds of the clock
};

/**
 * The rule by which memories are deleted.
 *
 * The strength of a memory is importance * 0.5 ^ (age / half-life); its age counts from when it was added or
 * recalled last. A memory of importance 1 keeps its strength. Where a character has more than `Most`
 * memories, the weakest are deleted, down to 9 tenths of `Most`.
 */
struct FForgetting
{
    uint32_t Most = 2000;
    double HalfLifeS = 7 * 24 * 3600.0;

    double Strength(const FMemory& Memory, double Now) const;
};

/**
 * What one character remembers: a namespace of a store.
 *
 * The entries are those of sotto.npc.Memories in Python and of SottoCharacterMemory in C#: the same ids,
 * metadata and namespaces. All functions wait for the disk and for the embedding model; one thread at a time.
 */
class FMemories
{
public:
    static constexpr double kFactImportance = 0.8;
    static constexpr double kTalkImportance = 0.3;

    using FEmbed =
        std::function<FOutcome(const std::vector<std::string>& Texts, std::vector<std::vector<float>>&)>;

    /** `Clock` returns seconds since 1970. */
    FMemories(FStore& InStore, std::string InCharacter, FEmbed InEmbed, std::function<double()> InClock);

    /** Lets the character know something for certain. */
    FOutcome Tell(const std::string& Fact, double Importance);
    /** Lets the character hear what somebody says to others. */
    FOutcome Overhear(const std::string& Text, const std::string& By, double Importance);
    /** Remembers an exchange of a conversation. `Exchange`: a sentence of ExchangeOf(). */
    FOutcome Remember(const std::string& Exchange);

    /** Adds a sentence, then forgets. One that is known already is not kept twice; it becomes recent again.
     */
    FOutcome Add(const std::string& Text, EMemoryKind Kind, double Importance);

    /** Finds the memories that fit a text best, best first, without the sentences of `Without`. */
    FOutcome Recall(
        const std::string& About,
        size_t Limit,
        const std::vector<std::string>& Without,
        std::vector<FMemory>& Found
    );

    /** Makes memories recent, because they were recalled for an answer. */
    FOutcome Use(const std::vector<FMemory>& Memories);

    /** Deletes the weakest memories if there are too many. */
    FOutcome Forget();

    /** Lists all memories in the order in which they were added. */
    FOutcome List(std::vector<FMemory>& Memories);

    const FApi& Functions() const { return Store.Functions(); }

    FForgetting Forgetting;

private:
    int64_t NowMs() const { return static_cast<int64_t>(Clock() * 1000); }

    FStore& Store;
    const std::string Character;
    const FEmbed Embed;
    const std::function<double()> Clock;
};

/** Returns the sentence that stands for an exchange. `By`: who spoke; empty: "The visitor". */
std::string ExchangeOf(const std::string& By, const std::string& Text, const std::string& Answer);

/** Returns a text on one line with single spaces, as Python's str.split() separates words. */
std::string MemoryLine(std::string_view Text);

/** Returns the id of the entry that holds a line. */
std::string MemoryId(const std::string& Character, const std::string& Line);

} // namespace SottoCore
