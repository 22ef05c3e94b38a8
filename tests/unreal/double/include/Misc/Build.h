// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#define WITH_EDITOR 1
#define WITH_DEV_AUTOMATION_TESTS 1
#define STATS 1
