#pragma once

#include <sotto/request.h>

namespace SottoCore
{

/** Distances that select a scheduling priority, in the world's units. */
struct FPriorityRange
{
    double Near = 0;     // up to here: foreground
    double Far = 0;      // beyond: background
    double Margin = 0.1; // share of a distance by which it must be passed to leave a priority
};

/**
 * Returns the priority of a character at `Distance` from the listener.
 *
 * A character that has `Previous` keeps it until it has passed the border by the margin, so that a character
 * at the border does not change its priority from turn to turn. A NaN distance gives SOTTO_PRIORITY_NORMAL.
 */
sotto_priority PriorityByDistance(double Distance, const FPriorityRange& Range, sotto_priority Previous);

} // namespace SottoCore
