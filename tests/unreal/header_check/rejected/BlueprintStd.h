// rule: blueprint-parameter
// expected: parameter 'Text' of 'UBlueprintStd::Say': type 'std::string' is of the C++ standard library; use
// Unreal's own
#pragma once

#include <string>

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "BlueprintStd.generated.h"

UCLASS()
class HEADERCHECK_API UBlueprintStd : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Say(const std::string& Text) {}
};
