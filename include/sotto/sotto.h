/**
 * @file sotto/sotto.h
 * The whole API in one include.
 *
 * The declarations are stable within a major version: structs and enums only grow at their ends, and
 * functions keep their prototypes. `module.h`, the API for backend authors, is stable within a minor
 * version.
 */
#ifndef SOTTO_H
#define SOTTO_H

#include "base.h"
#include "host.h"
#include "gpu.h"
#include "guard.h"
#include "engine.h"
#include "json.h"
#include "request.h"
#include "event.h"
#include "session.h"
#include "token_session.h"
#include "state.h"
#include "save_game.h"
#include "model.h"
#include "adapter.h"
#include "frame.h"
#include "trace.h"
#include "stats.h"
#include "budget.h"
#include "index.h"
#include "index_search.h"
#include "store.h"
#include "store_backup.h"

#endif
