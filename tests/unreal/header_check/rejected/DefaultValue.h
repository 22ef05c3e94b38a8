// rule: default-value
// expected: default '{ }' of 'Lines' in 'UDefaultValue::Say' is none that UnrealHeaderTool reads
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "DefaultValue.generated.h"

UCLASS()
class HEADERCHECK_API UDefaultValue : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Say(const TArray<FString>& Lines = {}, float Pace = 1.5f, const FString& Tone = TEXT("calm")) {}
};
