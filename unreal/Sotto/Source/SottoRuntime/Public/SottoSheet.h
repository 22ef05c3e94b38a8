#pragma once

#include "CoreMinimal.h"
#include "Engine/DataAsset.h"

#include "SottoSheet.generated.h"

/** A line of a sheet that has no field of its own: `Title: Text`, or a list under the title. */
USTRUCT(BlueprintType)
struct SOTTORUNTIME_API FSottoSheetLine
{
    GENERATED_BODY()

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Title;

    /** One line of text. Ignored if there are items. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Text;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    TArray<FString> Items;
};

/** A character sheet. Empty fields are left out of the prompt. */
UCLASS(BlueprintType)
class SOTTORUNTIME_API USottoSheet : public UDataAsset
{
    GENERATED_BODY()

public:
    /** Name of the character. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Name;

    /** Trade, in lower case and without an article: innkeeper. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Role;

    /** Manner of speech: gruff, courtly, sly, cheerful. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Manner;

    /** House, then town. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Place;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    FString Mood;

    /** Wares and prices, one an entry: stew: 4 copper. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    TArray<FString> Prices;

    /** What the character knows, one sentence an entry. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    TArray<FString> Facts;

    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    TArray<FString> Rumours;

    /** Further lines, such as Visitor, Quests or Actions. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto")
    TArray<FSottoSheetLine> Lines;

    /** The system message itself, for models that read prose. If set, all other fields are ignored. */
    UPROPERTY(EditAnywhere, BlueprintReadWrite, Category = "Sotto", meta = (MultiLine = true))
    FString Prose;

    /** Returns the system message. */
    UFUNCTION(BlueprintPure, Category = "Sotto")
    FString ToSystemMessage() const;

    /** Returns the system message with memories: facts follow those of the sheet, others its memories. */
    FString ToSystemMessageWith(const TArray<FString>& MoreFacts, const TArray<FString>& MoreMemories) const;

    /** Returns the text of the line "Visitor", or an empty string. */
    FString GetVisitor() const;
};
