import type { Scope, Tx } from '@eligo/postgres';
import type { CartLine } from '@eligo/proto/catalog/v1/catalog';
import type { Call } from '@eligo/rpc';
import type { Resources } from '../resources.ts';
import { insertCatalogTask } from '../store/catalog-tasks.ts';

/** Whether the cart makes products or prices of its own: these are inactive until the session is written. */
export function hasInlineLines(lines: readonly CartLine[]): boolean {
  return lines.some((line) => line.item.case === 'priceData');
}

/** Notes, with the session, that what its inline lines made is to be activated: it happens even if this process ends right after. */
export async function keepActivation(tx: Tx, scope: Scope, sessionId: string): Promise<void> {
  await insertCatalogTask(tx, scope, sessionId, 'activate');
}

/** Activates at once, so that the partner reads what it made. Should this fail, the task does it. */
export async function activateInline(
  { catalog, logger }: Pick<Resources, 'catalog' | 'logger'>,
  call: Call,
  sessionId: string,
): Promise<void> {
  try {
    await catalog.activateInline({ sessionId }, call);
  } catch (error) {
    logger.warn({ err: error, sessionId }, 'inline lines are left to their task');
  }
}
