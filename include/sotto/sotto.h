/**
 * @file sotto/sotto.h
 * The whole API. Include this.
 *
 * What is declared here holds for a major version: structs and enums only grow at their ends,
 * functions keep their prototypes. `module.h`, for those who write backends, holds for a minor.
 */
#ifndef SOTTO_H
#define SOTTO_H

#include "base.h"
#include "host.h"
#include "gpu.h"
#include "engine.h"
#include "request.h"
#include "model.h"
#include "frame.h"
#include "trace.h"
#include "stats.h"
#include "budget.h"

#endif
