// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "Internationalization/Text.h"

#define LOCTEXT(Key, Text) FText::FromString(TEXT(Text))
