// Double of Unreal, for the samples: the plugin has no assertions, so that tests/unreal/double has none.
#pragma once

#define checkf(CONDITION, ...) (void)(CONDITION)
