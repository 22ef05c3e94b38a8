#pragma once

#include "CoreMinimal.h"
#include "GameFramework/Actor.h"
#include "SottoTypes.h"

#include "SottoInnkeeper.generated.h"

class USottoCharacterComponent;

/**
 * Sample: an innkeeper who answers. Place it in a level, press play, and call Greet.
 *
 * Needs no assets: it writes its own sheet. It remembers if the project settings name an embedding model.
 */
UCLASS(Blueprintable)
class SOTTORUNTIME_API ASottoInnkeeper : public AActor
{
    GENERATED_BODY()

public:
    ASottoInnkeeper();

    /** Asks the innkeeper. GetBubble() returns the answer so far; a failure is logged. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Sample")
    void Greet(const FString& Question);

    /** Returns what the innkeeper has said so far. */
    UFUNCTION(BlueprintPure, Category = "Sotto|Sample")
    FString GetBubble() const { return Bubble; }

    /** Returns the character. */
    UFUNCTION(BlueprintPure, Category = "Sotto|Sample")
    USottoCharacterComponent* GetCharacter() const { return Character; }

protected:
    virtual void BeginPlay() override;

private:
    UFUNCTION()
    void HandlePartial(int64 Request, const FString& Text);

    UFUNCTION()
    void HandleFailed(const FSottoAnswer& Answer);

    UPROPERTY(VisibleAnywhere, Category = "Sotto|Sample")
    TObjectPtr<USottoCharacterComponent> Character;

    FString Bubble;
};
