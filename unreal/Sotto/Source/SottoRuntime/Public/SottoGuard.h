#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "SottoGuard.generated.h"

namespace SottoCore
{
class FGuard;
class FGuardStream;
} // namespace SottoCore

/** Which list of checkers looks at a text. */
UENUM(BlueprintType)
enum class ESottoGuardStage : uint8
{
    /** What a player writes. */
    Input,
    /** What a model writes. */
    Output,
    /** Prompts of generated images. */
    ImagePrompt
};

/** What happens to a text that a guard has checked. */
UENUM(BlueprintType)
enum class ESottoGuardAction : uint8
{
    Allow,
    Block,
    Rewrite
};

/** The result of a check. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoVerdict
{
    GENERATED_BODY()

    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    ESottoGuardAction Action = ESottoGuardAction::Allow;

    /** False if the text is blocked, or could not be checked. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    bool bAllowed = true;

    /** Name of the checker that decided; empty if the stage has none. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FString Checker;

    /** Category of the checker that decided. Empty: nothing was found, or it has none. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FString Category;

    /** Why the text was blocked or rewritten. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FString Reason;

    /** The text to use instead, if it was rewritten. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FString Rewritten;

    /** Confidence from 0 to 1. -1: nothing was found. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    float Score = -1.0f;

    /** Why the text could not be checked. Empty: it was checked. */
    UPROPERTY(BlueprintReadOnly, Category = "Sotto")
    FString Error;
};

/** Checks a text that arrives in pieces, such as the parts of an answer. */
UCLASS(BlueprintType)
class SOTTORUNTIME_API USottoGuardStream : public UObject
{
    GENERATED_BODY()

public:
    /**
     * Adds a piece of the text and returns what may be shown, rewritten where a checker says so.
     *
     * Holds back the shortest end of the text that may still become part of something to find.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Guard")
    FString Feed(const FString& Piece);

    /** Ends the text and returns the rest that may be shown. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Guard")
    FString Finish();

    /** Returns true once a checker has blocked the text. Nothing more is released then. */
    UFUNCTION(BlueprintPure, Category = "Sotto|Guard")
    bool IsBlocked() const { return bBlocked; }

    /** Returns the verdict on the text so far. */
    UFUNCTION(BlueprintPure, Category = "Sotto|Guard")
    FSottoVerdict GetVerdict() const;

    virtual void BeginDestroy() override;

private:
    friend class USottoGuard;

    void Close();

    TSharedPtr<SottoCore::FGuardStream> Stream;
    bool bBlocked = false;
};

/**
 * Checks text against phrases and regular expressions, whole or while it streams. Needs no engine and no
 * model; game thread only.
 *
 * Set Guardrails in the project settings to check what players say to characters and what these answer. A
 * guard of its own checks other text, such as names that players choose.
 */
UCLASS(BlueprintType)
class SOTTORUNTIME_API USottoGuard : public UObject
{
    GENERATED_BODY()

public:
    /**
     * Creates a guard. Takes about a second for 100,000 phrases: call it on a loading screen.
     *
     * @param Config  The configuration: a JSON object, or a file in Content/ or Saved/ that holds it.
     * @param Error   Out: why there is no guard, with the path in the JSON. Empty on success.
     * @return The guard, or null.
     */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Guard")
    static USottoGuard* CreateGuard(const FString& Config, FString& Error);

    /** Checks a whole text, at most 16 MiB of UTF-8. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Guard")
    FSottoVerdict Check(ESottoGuardStage Stage, const FString& Text) const;

    /** Starts to check a text that arrives in pieces. Returns null if the plugin is off. */
    UFUNCTION(BlueprintCallable, Category = "Sotto|Guard")
    USottoGuardStream* OpenStream(ESottoGuardStage Stage);

    virtual void BeginDestroy() override;

private:
    void Close();

    TSharedPtr<SottoCore::FGuard> Guard;
};
