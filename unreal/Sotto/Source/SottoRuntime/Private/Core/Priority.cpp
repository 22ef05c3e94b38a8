#include "Core/Priority.h"

#include <cmath>

namespace SottoCore
{

sotto_priority PriorityByDistance(double Distance, const FPriorityRange& Range, sotto_priority Previous)
{
    if (std::isnan(Distance))
    {
        return SOTTO_PRIORITY_NORMAL;
    }
    const double Near = Range.Near * (Previous == SOTTO_PRIORITY_FOREGROUND ? 1 + Range.Margin : 1);
    const double Far = Range.Far * (Previous == SOTTO_PRIORITY_BACKGROUND ? 1 - Range.Margin : 1);
    if (Distance <= Near)
    {
        return SOTTO_PRIORITY_FOREGROUND;
    }
    return Distance > Far ? SOTTO_PRIORITY_BACKGROUND : SOTTO_PRIORITY_NORMAL;
}

} // namespace SottoCore
