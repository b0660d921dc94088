import { type Database, unscoped } from '@eligo/postgres';

/** The channel on which relays of a schema are woken. */
export const WAKE_CHANNEL = 'eligo_outbox';

/**
 * Wakes the relay of this database's schema: by a call when it runs in this process, else by NOTIFY. That is sent after the commit and apart
 * from it, because a transaction that notifies holds a lock of the whole server while it commits, and commits would queue up behind it.
 * What is lost with the process is found by the relay's poll.
 */
export function wakeRelay(database: Database): void {
  const local = localRelays.get(database);
  if (local !== undefined) {
    local();
    return;
  }
  if (notifying.has(database)) return;
  notifying.add(database);
  setTimeout(() => {
    notifying.delete(database);
    database.execute(notify, null).catch((error: unknown) => database.report(error, 'waking the relay'));
  }, COALESCE_MS).unref();
}

/** Registers the relay that leads in this process; the function that is returned takes it back. */
export function registerRelay(database: Database, wake: () => void): () => void {
  localRelays.set(database, wake);
  return () => {
    if (localRelays.get(database) === wake) localRelays.delete(database);
  };
}

// One NOTIFY stands for all commits of this time.
const COALESCE_MS = 5;
const localRelays = new WeakMap<Database, () => void>();
const notifying = new WeakSet<Database>();
const notify = unscoped('events.notify', `select pg_notify('${WAKE_CHANNEL}', current_schema())`);
