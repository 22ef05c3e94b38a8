// rule: blueprint-parameter
// expected: parameter 'Tone' of 'UBlueprintEnum::Choose': enum 'EUnshown' is not BlueprintType
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "BlueprintEnum.generated.h"

UENUM()
enum class EUnshown : uint8
{
    None
};

UCLASS()
class HEADERCHECK_API UBlueprintEnum : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Choose(EUnshown Tone) {}
};
