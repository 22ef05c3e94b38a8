// rule: blueprint-parameter
// expected: parameter 'Reply' of 'UBlueprintStruct::Take': struct 'FPlainReply' has no USTRUCT()
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "BlueprintStruct.generated.h"

struct FPlainReply
{
    int32 Kept = 0;
};

UCLASS()
class HEADERCHECK_API UBlueprintStruct : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Take(const FPlainReply& Reply) {}
};
