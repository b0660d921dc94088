import { spawnSync } from 'node:child_process';

/** Older servers can lose acknowledged events when they are killed or their disk is full; Eligo then republishes them from the outboxes. */
const wellVersion = [2, 12, 7] as const;

/** Says so when a server runs with Eligo, but is older than it should be. */
export function tellIfOld(command: string, onNews: (text: string) => void): void {
  const { stdout } = spawnSync(command, ['--version'], { encoding: 'utf8', timeout: 10_000 });
  if (!isOld(stdout ?? '')) return;
  const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0];
  onNews(`${command} is version ${version}; use ${wellVersion.join('.')} or newer in production`);
}

/** Whether a text names an older version; one that names none says nothing. */
export function isOld(text: string): boolean {
  const version = /(\d+)\.(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number);
  if (version === undefined) return false;
  const at = wellVersion.findIndex((part, index) => part !== version[index]);
  return at >= 0 && (version[at] ?? 0) < (wellVersion[at] ?? 0);
}
