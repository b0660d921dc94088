/** Older servers can lose acknowledged events when they are killed or their disk is full; Eligo then republishes them from the outboxes. */
const wellVersion = [2, 12, 7] as const;

/** The oldest version of nats-server to use in production. */
export const leastWellVersion = wellVersion.join('.');

/** Whether a text names an older version; one that names none says nothing. */
export function isOldServer(text: string): boolean {
  const version = /(\d+)\.(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number);
  if (version === undefined) return false;
  const at = wellVersion.findIndex((part, index) => part !== version[index]);
  return at >= 0 && (version[at] ?? 0) < (wellVersion[at] ?? 0);
}
