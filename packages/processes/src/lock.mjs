// A lock that a killed process cannot leave behind: a file that names its holder, who must be alive to count.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isAlive, processIdentity } from './processes.mjs';

let taken = 0;

/**
 * Takes the lock at `path`: `{ release }`, or `{ holder: pid }` when a living process has it.
 * A link is made or refused in one step, so that of two that ask at once only one is given it.
 */
export function tryLock(path) {
  mkdirSync(dirname(path), { recursive: true });
  const own = JSON.stringify({
    pid: process.pid,
    identity: processIdentity(process.pid),
    nonce: `${Date.now()}-${++taken}`,
  });
  const draft = `${path}.${process.pid}.${taken}`;
  writeFileSync(draft, own, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      if (makeLink(draft, path)) return { release: () => release(path, own) };
      const text = readIfThere(path);
      if (text === undefined) continue;
      const holder = parseHolder(text);
      if (holder && isAlive(holder.pid, holder.identity)) return { holder: holder.pid };
      removeDead(path, text);
    }
    return { holder: parseHolder(readIfThere(path) ?? '')?.pid ?? 0 };
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Runs `work` while holding the lock; waits for another holder, and says so once. */
export async function withLock(path, work, { waitingMs = 900_000, onWait = () => undefined } = {}) {
  const deadline = Date.now() + waitingMs;
  let said = false;
  for (;;) {
    const lock = tryLock(path);
    if (lock.release) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (!said) onWait(lock.holder);
    said = true;
    if (Date.now() > deadline) throw new Error(`Process ${lock.holder} has held ${path} for too long`);
    await new Promise((wake) => setTimeout(wake, 150));
  }
}

function makeLink(draft, path) {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

// What is moved away may be a lock that another process took a moment ago: then it is put back.
function removeDead(path, text) {
  const aside = `${path}.dead.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  if (readIfThere(aside) !== text) makeLink(aside, path);
  rmSync(aside, { force: true });
}

function release(path, own) {
  if (readIfThere(path) === own) rmSync(path, { force: true });
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function parseHolder(text) {
  try {
    const holder = JSON.parse(text);
    return Number.isInteger(holder.pid) ? holder : undefined;
  } catch {
    return undefined;
  }
}
