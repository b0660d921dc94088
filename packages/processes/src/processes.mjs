// Which process is meant by a recorded pid? Pids are used again, so a pid counts only with its start time.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** A text that only the process that has `pid` now can have, or undefined when it is gone (or a zombie). */
export function processIdentity(pid) {
  const seen = lookAt(pid);
  return seen === undefined || seen.zombie ? undefined : seen.identity;
}

/** The pid of a process's parent, or undefined when the process is gone. */
export function parentOf(pid) {
  return lookAt(pid)?.parent;
}

/** The command's short name ("npm start", "sh", "node"), or undefined when the process is gone. */
export function commandOf(pid) {
  return lookAt(pid)?.command;
}

/** True while the process that was recorded with this identity lives. */
export function isAlive(pid, identity) {
  return processIdentity(pid) === identity;
}

function lookAt(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return existsSync('/proc/self/stat') ? lookAtProc(pid) : lookAtPs(pid);
}

function lookAtProc(pid) {
  let stat;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // The command stands in parentheses and may hold spaces and parentheses itself: what counts comes after the last.
  const open = stat.indexOf('(');
  const close = stat.lastIndexOf(')');
  const fields = stat.slice(close + 2).split(' ');
  return {
    command: stat.slice(open + 1, close),
    zombie: fields[0] === 'Z' || fields[0] === 'X',
    parent: Number(fields[1]),
    identity: `${bootId()}:${fields[19]}`,
  };
}

let cachedBootId;
function bootId() {
  if (cachedBootId === undefined) {
    try {
      cachedBootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8);
    } catch {
      cachedBootId = 'boot';
    }
  }
  return cachedBootId;
}

function lookAtPs(pid) {
  let line;
  try {
    line = execFileSync('ps', ['-o', 'ppid=,stat=,lstart=,comm=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
  const match = /^(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/.exec(line);
  if (!match) return undefined;
  return { parent: Number(match[1]), zombie: match[2].startsWith('Z'), identity: match[3], command: match[4] };
}
