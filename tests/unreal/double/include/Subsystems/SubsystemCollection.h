// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

class FSubsystemCollectionBase {};
