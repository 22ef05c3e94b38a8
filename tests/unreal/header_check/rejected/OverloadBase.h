// rule: overload
// expected: 'UOverloadBelow::Ask' repeats the UFUNCTION of 'UOverloadAbove'
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "OverloadBase.generated.h"

UCLASS()
class HEADERCHECK_API UOverloadAbove : public UObject
{
    GENERATED_BODY()

public:
    UFUNCTION()
    virtual void Ask() {}
};

UCLASS()
class HEADERCHECK_API UOverloadBelow : public UOverloadAbove
{
    GENERATED_BODY()

public:
    UFUNCTION()
    virtual void Ask() override {}
};
