#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "Core/Memories.h"
#include "CoreMinimal.h"
#include "SottoStore.h"
#include "SottoTypes.h"

class USottoSheet;
class USottoSubsystem;

/** A question of a character that recalls. */
struct FSottoRecall
{
    FString Text;
    FString Model;
    TWeakObjectPtr<USottoSheet> Sheet;
    int32 Most = 0;   // memories
    int32 Tokens = 0; // of all memories together
};

/**
 * The memory of a character: recalls before an answer, remembers after it.
 *
 * Game thread only. The work runs on the worker thread of the subsystem's store, in the order of the calls.
 */
class FSottoRemembering : public std::enable_shared_from_this<FSottoRemembering>
{
public:
    FSottoRemembering(USottoSubsystem& InSubsystem, const FString& InCharacter);

    const FString& Name() const { return Character; }

    /** Recalls memories for a question, and has the host continue it. */
    void Recall(int64 Request, const FSottoRecall& Question);
    /** Ends a question. A complete answer is remembered. */
    void End(const FSottoAnswer& Answer);
    /** Lets the character know something for certain. */
    void Tell(const FString& Fact, float Importance);
    /** Lets the character hear what somebody says to others. */
    void Overhear(const FString& Text, const FString& By);

private:
    struct FTurn
    {
        FSottoRecall Question;
        std::vector<SottoCore::FMemory> Recalled;
        bool bRecalled = false;
    };
    using FWork = std::function<SottoCore::FOutcome(SottoCore::FMemories&)>;

    /** Runs work once the embedding model is loaded. `Then` follows on the game thread. */
    void Run(FWork Work, std::function<void(const SottoCore::FOutcome&)> Then);
    void RunLoaded(FWork Work, std::function<void(const SottoCore::FOutcome&)> Then);
    void Warn(const TCHAR* What, const SottoCore::FOutcome& Outcome) const;
    void Continue(int64 Request, const std::vector<SottoCore::FMemory>& Found);

    TWeakObjectPtr<USottoSubsystem> Subsystem;
    FString Character;
    std::string Embedder;
    std::unordered_map<int64, FTurn> Turns;
    std::vector<std::string> Exchanges; // latest ones, which the conversation has and Recall() leaves out
};
