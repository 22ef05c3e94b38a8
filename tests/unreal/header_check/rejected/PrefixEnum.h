// rule: prefix
// expected: 'Mood' lacks the prefix E
#pragma once

#include "CoreMinimal.h"

enum class Mood : uint8
{
    Calm
};
