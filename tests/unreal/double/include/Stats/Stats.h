// Double of Unreal: see tests/unreal/double/README.md.
#pragma once

#include "CoreMinimal.h"

/** Sets and reads the last value of a stat. Seconds for a cycle stat. */
void DoubleSetStat(const TCHAR* Name, double Value);
double DoubleGetStat(const TCHAR* Name);
double DoubleSeconds();

struct FDoubleCycleScope {
    explicit FDoubleCycleScope(const TCHAR* InName) : Name(InName), Begun(DoubleSeconds()) {}
    ~FDoubleCycleScope() { DoubleSetStat(Name, DoubleSeconds() - Begun); }

private:
    const TCHAR* Name;
    double Begun;
};

#define STATCAT_Advanced
#define DECLARE_STATS_GROUP(Description, GroupId, Category) struct GroupId
#define DOUBLE_DECLARE_STAT(Stat, GroupId)                                                                   \
    struct FStat##Stat {                                                                                     \
        using TGroup = GroupId;                                                                              \
        static const TCHAR* Name() { return TEXT(#Stat); }                                                   \
    }
#define DECLARE_CYCLE_STAT(Description, Stat, GroupId) DOUBLE_DECLARE_STAT(Stat, GroupId)
#define DECLARE_DWORD_COUNTER_STAT(Description, Stat, GroupId) DOUBLE_DECLARE_STAT(Stat, GroupId)
#define DECLARE_FLOAT_COUNTER_STAT(Description, Stat, GroupId) DOUBLE_DECLARE_STAT(Stat, GroupId)
#define DECLARE_MEMORY_STAT(Description, Stat, GroupId) DOUBLE_DECLARE_STAT(Stat, GroupId)
#define SCOPE_CYCLE_COUNTER(Stat) const FDoubleCycleScope DoubleScope##Stat(FStat##Stat::Name())
#define SET_DWORD_STAT(Stat, Value) DoubleSetStat(FStat##Stat::Name(), static_cast<double>(Value))
#define SET_FLOAT_STAT(Stat, Value) DoubleSetStat(FStat##Stat::Name(), static_cast<double>(Value))
#define SET_MEMORY_STAT(Stat, Value) DoubleSetStat(FStat##Stat::Name(), static_cast<double>(Value))
