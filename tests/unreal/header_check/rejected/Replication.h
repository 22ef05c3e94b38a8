// rule: replication
// expected: 'Kept' is Replicated, but GetLifetimeReplicatedProps is not overridden
#pragma once

#include "CoreMinimal.h"
#include "UObject/Object.h"

#include "Replication.generated.h"

UCLASS()
class HEADERCHECK_API UReplicated : public UObject
{
    GENERATED_BODY()

public:
    UPROPERTY(Replicated)
    int32 Kept = 0;
};
