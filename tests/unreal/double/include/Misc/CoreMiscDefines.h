// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#define INDEX_NONE (-1)
