#pragma once

#include <memory>

#include "Components/ActorComponent.h"
#include "CoreMinimal.h"
#include "SottoTypes.h"

#include "SottoCharacterComponent.generated.h"

class FSottoRemembering;
class USottoSheet;
class USottoSubsystem;

/** A part of an answer, or a sentence of it. */
DECLARE_DYNAMIC_MULTICAST_DELEGATE_TwoParams(FSottoCharacterText, int64, Request, const FString&, Text);
/** The end of an answer. */
DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(FSottoCharacterAnswer, const FSottoAnswer&, Answer);

/**
 * Makes an actor a character that answers.
 *
 * Give it a sheet, bind OnPartial or OnSentence, and call Say. Ending play cancels its answers: the events
 * stay silent, and the delegates of SayTo() end with Cancelled. The conversation remains until the game
 * instance ends.
 */
UCLASS(ClassGroup = (Sotto), meta = (BlueprintSpawnableComponent))
class SOTTORUNTIME_API USottoCharacterComponent : public UActorComponent
{
    GENERATED_BODY()

public:
    USottoCharacterComponent();

    /** Who the character is. */
    UPROPERTY(EditAnywhere, BlueprintReadOnly, Category = "Sotto")
    TObjectPtr<USottoSheet> Sheet;

    /**
     * Name of the conversation, at most 128 bytes. Empty: the package of the actor's level and the name of
     * the actor, such as /Game/Maps/Tavern.Guard_1.
     */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Conversation;

    /** Model. Empty: the model of the project settings. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Model;

    /** Maximum tokens of an answer. 0: no limit except the context. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (ClampMin = "0"))
    int32 MaxTokens = 64;

    /** Sampling temperature. Below 0: the model's default. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    float Temperature = 0.2f;

    /** Pace in tokens per second. 0: the pace of the project settings. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (ClampMin = "0"))
    float TargetTps = 0.0f;

    /** Chooses the priority of each question by the distance to the player's view. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    bool bPriorityByDistance = true;

    /** Priority if it is not chosen by distance. */
    UPROPERTY(
        EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (EditCondition = "!bPriorityByDistance")
    )
    ESottoPriority Priority = ESottoPriority::Normal;

    /**
     * Keeps what is said in the store of memories, and recalls it before an answer. Needs Embedding Model in
     * the project settings.
     */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto|Memory")
    bool bRemembers = false;

    /** Name of its memories in the store. Empty: the name of its sheet, else of the conversation. */
    UPROPERTY(
        EditAnywhere, BlueprintReadWrite, Category = "Sotto|Memory", meta = (EditCondition = "bRemembers")
    )
    FString MemoryName;

    /** Maximum number of memories in a prompt. */
    UPROPERTY(
        EditAnywhere,
        BlueprintReadWrite,
        Category = "Sotto|Memory",
        meta = (ClampMin = "0", EditCondition = "bRemembers")
    )
    int32 Recalled = 4;

    /** Maximum tokens of the memories in a prompt. */
    UPROPERTY(
        EditAnywhere,
        BlueprintReadWrite,
        Category = "Sotto|Memory",
        meta = (ClampMin = "0", EditCondition = "bRemembers")
    )
    int32 MemoryTokens = 256;

    /** The next part of an answer. */
    UPROPERTY(BlueprintAssignable, Category = "Sotto")
    FSottoCharacterText OnPartial;

    /** The next sentence of an answer, for speech synthesis. */
    UPROPERTY(BlueprintAssignable, Category = "Sotto")
    FSottoCharacterText OnSentence;

    /** An answer is complete; with ESottoFinish::ContentFilter, a guardrail blocked the rest of it. */
    UPROPERTY(BlueprintAssignable, Category = "Sotto")
    FSottoCharacterAnswer OnDone;

    /** An answer failed or was cancelled, or a guardrail blocked the question (ESottoStatus::Blocked). */
    UPROPERTY(BlueprintAssignable, Category = "Sotto")
    FSottoCharacterAnswer OnFailed;

    /**
     * Says something to the character. The answer arrives through the events of this component.
     *
     * Returns the id of the request, or 0 if there is no game instance. A character answers one question at a
     * time: a second one fails with Busy.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    int64 Say(const FString& Text);

    /** Cancels all answers of this character. */
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void CancelAnswers();

    /**
     * Takes back the last turns, each with its answer: the player said something that did not happen. Cancels
     * answers in progress, which are not part of the conversation. What the character remembers stays.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Rewind(int32 Turns = 1);

    /** Gives the character another sheet, from its next answer on. */
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void SetSheet(USottoSheet* NewSheet);

    /**
     * Lets the character know something for certain. It must remember (bRemembers).
     *
     * @param Fact        A sentence.
     * @param Importance  From 0 to 1. Memories of importance 1 are never forgotten before others.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Memory")
    void Tell(const FString& Fact, float Importance = 0.8f);

    /** Lets the character hear what somebody says to others. It must remember; it does not answer. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Memory")
    void Overhear(const FString& Text, const FString& By);

    /** Returns true while an answer has not ended. */
    UFUNCTION(BlueprintPure, Category = "Sotto")
    bool IsAnswering() const { return Live.Num() != 0; }

    /** As Say(), and calls `Handlers` too. */
    int64 SayTo(const FString& Text, const FSottoHandlers& Handlers);

    /** Returns the name of the conversation. */
    FString GetConversation() const;

protected:
    virtual void EndPlay(const EEndPlayReason::Type EndPlayReason) override;
    virtual void BeginDestroy() override;

private:
    void HandlePartial(int64 Request, const FString& Text);
    void HandleSentence(int64 Request, const FString& Text);
    void HandleEnded(const FSottoAnswer& Answer);
    /** Cancels all requests without an event of this component. Returns them with their callers' delegates.
     */
    TMap<int64, FSottoHandlers> AbandonAnswers();
    ESottoPriority ChoosePriority();
    /** Returns the memory of this character, or null with a reason in the log. */
    FSottoRemembering* Remembering();
    int64 SayRemembering(const FSottoTurn& Turn, const FSottoHandlers& Handlers);

    TMap<int64, FSottoHandlers> Live; // requests that have not ended, with the caller's delegates
    ESottoPriority LastPriority = ESottoPriority::Normal;
    std::shared_ptr<FSottoRemembering> Memory;
    TWeakObjectPtr<USottoSubsystem> Subsystem; // where the live requests were submitted
};
