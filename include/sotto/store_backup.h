/**
 * @file sotto/store_backup.h
 * Backups of a store, its disk space, and the check for damage.
 *
 *     sotto_store_backup(store, (sotto_str){"saves/slot1.lore", SOTTO_NUL});  // while the game is saved
 *     sotto_store_restore(store, (sotto_str){"saves/slot1.lore", SOTTO_NUL}); // when it is loaded
 *
 * A backup is one file with all entries and their embeddings, a SQLite database. SOTTO_OP_SAVE_GAME can hold
 * it: see the field `files`. All calls block, as those of store.h, and have its statuses.
 */
#ifndef SOTTO_STORE_BACKUP_H
#define SOTTO_STORE_BACKUP_H

#include "store.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes all entries to a file. Waits for the disk.
 *
 * The file holds the entries as they are at one moment, and is written atomically, for the current user only:
 * after a crash or a full disk, an earlier backup is whole.
 *
 * @param store  The store.
 * @param path   File to create or replace. Replaces only a regular file.
 * @return SOTTO_OK, SOTTO_ERROR_ARGUMENT (a path to anything but a regular file) or SOTTO_ERROR_STATE (the
 *         file cannot be written; or the store is read-only and was not closed by its last writer).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_backup(sotto_store* store, sotto_str path);

/**
 * Replaces all entries by those of a backup. Waits for the disk.
 *
 * Reads the whole backup and checks it first. The replacement is one transaction: after a crash or a full
 * disk, the store has either the earlier entries or those of the backup. The backup may be of another store
 * with the same `dim`.
 *
 * @param store  The store, open for writing.
 * @param path   File of sotto_store_backup(). It must not change meanwhile.
 * @return SOTTO_OK, SOTTO_ERROR_NOT_FOUND (no such file), SOTTO_ERROR_STATE (no backup, damaged, of another
 *         `dim`; or the store is read-only) or SOTTO_ERROR_UNSUPPORTED (written by a newer version).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_restore(sotto_store* store, sotto_str path);

/**
 * Gives the disk space of removed entries back to the system. Waits for the disk, if large for seconds.
 *
 * @param store  The store.
 * @return SOTTO_OK or SOTTO_ERROR_STATE.
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_compact(sotto_store* store);

/**
 * Reads the whole file and reports damage. Waits for the disk, if large for seconds.
 *
 * @param store  The store.
 * @return SOTTO_OK or SOTTO_ERROR_STATE (damaged; the text names the place).
 *
 * @thread Any.
 * @since  0.1
 */
SOTTO_API sotto_status SOTTO_CALL sotto_store_check(sotto_store* store);

#ifdef __cplusplus
}
#endif
#endif
