// rule: native-event
// expected: BlueprintNativeEvent 'UNativeEvent::OnText' lacks OnText_Implementation
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "NativeEvent.generated.h"

UCLASS()
class HEADERCHECK_API UNativeEvent : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION(BlueprintNativeEvent, Category = "Sotto")
    void OnText();
};
