// rule: handler
// expected: AddDynamic: 'UHandler::HandleText' has no UFUNCTION(), so that it is never called
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Handler.generated.h"

DECLARE_DYNAMIC_MULTICAST_DELEGATE_OneParam(FHandlerText, const FString&, Text);

UCLASS()
class HEADERCHECK_API UHandler : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(BlueprintAssignable)
    FHandlerText OnText;

    UFUNCTION()
    void HandleKnown(const FString& Text) {}

    void HandleText(const FString& Text) {}

    void Bind()
    {
        OnText.AddDynamic(this, &UHandler::HandleKnown);
        OnText.AddDynamic(this, &UHandler::HandleText);
    }
};
