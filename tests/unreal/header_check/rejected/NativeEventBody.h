// rule: native-event
// expected: BlueprintNativeEvent 'UNativeBody::OnText' has a body of its own; move it to
// OnText_Implementation
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "NativeEventBody.generated.h"

UCLASS()
class HEADERCHECK_API UNativeBody : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintNativeEvent, Category = "Sotto")
    void OnText() {}

    virtual void OnText_Implementation() {}
};
