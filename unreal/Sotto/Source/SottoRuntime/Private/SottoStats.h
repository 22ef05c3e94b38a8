#pragma once

#include "Stats/Stats.h"

// `stat sotto` in the console.
DECLARE_STATS_GROUP(TEXT("Sotto"), STATGROUP_Sotto, STATCAT_Advanced);
DECLARE_CYCLE_STAT(TEXT("Deliver events"), STAT_SottoDeliver, STATGROUP_Sotto);
DECLARE_DWORD_COUNTER_STAT(TEXT("Live requests"), STAT_SottoLive, STATGROUP_Sotto);
DECLARE_DWORD_COUNTER_STAT(TEXT("Waiting answers"), STAT_SottoWaiting, STATGROUP_Sotto);
DECLARE_FLOAT_COUNTER_STAT(TEXT("Tokens per second"), STAT_SottoTokens, STATGROUP_Sotto);
DECLARE_FLOAT_COUNTER_STAT(TEXT("Time to first token (ms)"), STAT_SottoFirstToken, STATGROUP_Sotto);
DECLARE_MEMORY_STAT(TEXT("Models"), STAT_SottoModels, STATGROUP_Sotto);
