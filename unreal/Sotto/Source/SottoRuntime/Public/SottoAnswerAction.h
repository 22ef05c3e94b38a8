#pragma once

#include "CoreMinimal.h"
#include "Engine/CancellableAsyncAction.h"
#include "SottoTypes.h"

#include "SottoAnswerAction.generated.h"

class USottoCharacterComponent;
class USottoSubsystem;

/**
 * Output pins of the async nodes. `Answer`: the part, the sentence, the whole answer, or the error. Not
 * `Text`: a node's pins need different names, and `Text` is an input.
 */
DECLARE_DYNAMIC_MULTICAST_DELEGATE_ThreeParams(
    FSottoAnswerPin, int64, Request, const FString&, Answer, ESottoStatus, Status
);

/** Async nodes that ask for an answer. */
UCLASS()
class SOTTORUNTIME_API USottoAnswerAction : public UCancellableAsyncAction
{
    GENERATED_BODY()

public:
    /** The next part of the answer. */
    UPROPERTY(BlueprintAssignable)
    FSottoAnswerPin Partial;

    /** The next sentence of the answer. */
    UPROPERTY(BlueprintAssignable)
    FSottoAnswerPin Sentence;

    /** The answer is complete. */
    UPROPERTY(BlueprintAssignable)
    FSottoAnswerPin Done;

    /** The answer failed or was cancelled. */
    UPROPERTY(BlueprintAssignable)
    FSottoAnswerPin Failed;

    /** Says something to a character. */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto",
        meta =
            (BlueprintInternalUseOnly = "true",
             WorldContext = "WorldContextObject",
             DisplayName = "Say to Character")
    )
    static USottoAnswerAction*
    SayToCharacter(UObject* WorldContextObject, USottoCharacterComponent* Character, const FString& Text);

    /** Asks a model a question, with or without a conversation. */
    UFUNCTION(
        BlueprintCallable,
        Category = "Sotto",
        meta =
            (BlueprintInternalUseOnly = "true",
             WorldContext = "WorldContextObject",
             DisplayName = "Ask Model")
    )
    static USottoAnswerAction* AskModel(UObject* WorldContextObject, const FSottoTurn& Turn);

    virtual void Activate() override;
    virtual void Cancel() override;

private:
    void HandlePartial(int64 Id, const FString& Text);
    void HandleSentence(int64 Id, const FString& Text);
    void HandleEnded(const FSottoAnswer& Answer);

    TWeakObjectPtr<USottoCharacterComponent> Asked;
    TWeakObjectPtr<USottoSubsystem> Subsystem;
    FSottoTurn Turn;
    int64 Request = 0;
    bool bWithCharacter = false;
};
