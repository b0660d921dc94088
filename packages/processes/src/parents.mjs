// npm does not always pass a signal on, and nobody passes on a SIGKILL: so a started process watches those above it.
import { basename } from 'node:path';
import { commandOf, isAlive, parentOf, processIdentity } from './processes.mjs';

const shells = new Set(['sh', 'dash', 'bash', 'ash', 'zsh', 'ksh', 'busybox']);

/**
 * The processes whose end means that this one should stop, as `pid@identity` pairs for ELIGO_PARENTS: under npm, npm
 * itself and the shell between; else none, so that a process started by hand in the background lives on.
 */
export function ancestry({ withSelf = false } = {}) {
  const watched = withSelf ? [process.pid] : [];
  if (process.env.npm_lifecycle_event) {
    const parent = process.ppid;
    watched.push(parent);
    if (shells.has(basename(commandOf(parent) ?? ''))) watched.push(parentOf(parent) ?? 0);
  }
  return watched
    .filter((pid) => pid > 1)
    .map((pid) => `${pid}@${processIdentity(pid)}`)
    .join(',');
}

/** Calls `onGone` once when one of the processes of ELIGO_PARENTS has ended. Returns a function that stops watching. */
export function watchParents(onGone, everyMs = 200) {
  const watched = (process.env.ELIGO_PARENTS ?? '')
    .split(',')
    .filter(Boolean)
    .map((pair) => {
      const [pid = '', identity = ''] = pair.split('@');
      return { pid: Number(pid), identity };
    });
  if (watched.length === 0) return () => undefined;
  const timer = setInterval(() => {
    if (watched.every(({ pid, identity }) => isAlive(pid, identity))) return;
    clearInterval(timer);
    onGone();
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
