// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

namespace ETextCommit {
enum Type { Default, OnEnter, OnUserMovedFocus, OnCleared };
}
