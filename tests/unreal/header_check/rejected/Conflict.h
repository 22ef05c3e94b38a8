// rule: conflict
// expected: property 'UConflict::Pace' has both EditAnywhere and VisibleAnywhere
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Conflict.generated.h"

UCLASS()
class HEADERCHECK_API UConflict : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(EditAnywhere, VisibleAnywhere, Category = "Sotto")
    float Pace = 0;
};
