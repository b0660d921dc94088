import { type Database, unscoped } from '@eligo/postgres';

/** The channel on which relays are woken, and the one on which redrivers are; the payload names the schema. */
export const WAKE_CHANNEL = 'eligo_outbox';
export const REDRIVE_CHANNEL = 'eligo_redrive';

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
  if (notifying.has(database) || database.isClosing) return;
  notifying.add(database);
  const send = async (): Promise<void> => {
    clearTimeout(timer);
    forget();
    notifying.delete(database);
    try {
      await database.execute(notify, null);
    } catch (error) {
      database.report(error, 'NOTIFY to the relay failed');
    }
  };
  const timer = setTimeout(() => void send(), COALESCE_MS).unref();
  // A process that ends tells the relay of another one of its last commits.
  const forget = database.doBeforeClose(send);
}

/** Registers the relay that leads in this process; the function that is returned takes it back. */
export function registerRelay(database: Database, wake: () => void): () => void {
  localRelays.set(database, wake);
  return () => {
    if (localRelays.get(database) === wake) localRelays.delete(database);
  };
}

/**
 * Wakes the redrivers of this database's schema: those of this process by a call, and by NOTIFY those of the process whose relay leads, which
 * has all consumers of the service. What is lost is found by their poll.
 */
export async function wakeRedrivers(database: Database): Promise<void> {
  wakeLocalRedrivers(database);
  await database.execute(notifyRedrive, null);
}

/** Wakes the redrivers of this process. */
export function wakeLocalRedrivers(database: Database): void {
  for (const wake of localRedrivers.get(database) ?? []) wake();
}

/** Registers a redriver of this process; the function that is returned takes it back. */
export function registerRedriver(database: Database, wake: () => void): () => void {
  const registered = localRedrivers.get(database) ?? new Set();
  localRedrivers.set(database, registered.add(wake));
  return () => void registered.delete(wake);
}

// One NOTIFY stands for all commits of this time.
const COALESCE_MS = 5;
const localRelays = new WeakMap<Database, () => void>();
const localRedrivers = new WeakMap<Database, Set<() => void>>();
const notifying = new WeakSet<Database>();
const notify = unscoped('events.notify', `select pg_notify('${WAKE_CHANNEL}', current_schema())`);
const notifyRedrive = unscoped('events.notify_redrive', `select pg_notify('${REDRIVE_CHANNEL}', current_schema())`);
