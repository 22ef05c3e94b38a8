// rule: blueprint-parameter
// expected: parameter 'Text' of 'UBlueprintChars::Say': type 'char *' is a pointer to something that is no
// UObject; use a handle, an index or a struct
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "BlueprintChars.generated.h"

UCLASS()
class HEADERCHECK_API UBlueprintChars : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintCallable, Category = "Sotto")
    void Say(const char* Text) {}
};
