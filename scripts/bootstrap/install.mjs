// Installs what package-lock.json names, when node_modules does not hold just that.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeOnce } from './make-once.mjs';

/** `npm ci` when it is needed, by one process at a time. */
export async function installPackages(root) {
  await makeOnce(
    root,
    'install',
    () => isInstalled(root),
    async () => {
      process.stderr.write('eligo: installing the packages of package-lock.json\n');
      await npmCi(root);
      if (!isInstalled(root)) throw new Error('npm ci succeeded, but node_modules does not match package-lock.json.');
    },
    (holder) => process.stderr.write(`eligo: waiting for process ${holder}, which is installing packages\n`),
  );
}

/**
 * npm's own record of what it installed, written as its last step, is the stamp: every package of the lock file must
 * be in it with the same version, and every link to a workspace with the same folder, but for optional ones that are for another platform.
 */
export function isInstalled(root) {
  const stamp = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(stamp)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const present = JSON.parse(readFileSync(stamp, 'utf8')).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/') && !path.includes('/node_modules/')) return true;
    const found = present[path];
    if (found)
      return (
        found.version === entry.version &&
        found.link === entry.link &&
        (!entry.link || found.resolved === entry.resolved)
      );
    return entry.optional === true && !isMadeForThisPlatform(entry);
  });
}

// An optional package counts as wanted only when it names just this platform; one that also chooses among C libraries
// is npm's to choose.
function isMadeForThisPlatform(entry) {
  if (!entry.os || !entry.cpu || entry.libc) return false;
  return matches(entry.os, process.platform) && matches(entry.cpu, process.arch);
}

function matches(names, own) {
  const list = [names].flat();
  const refused = list.filter((name) => name.startsWith('!')).map((name) => name.slice(1));
  if (refused.includes(own)) return false;
  const allowed = list.filter((name) => !name.startsWith('!'));
  return allowed.length === 0 || allowed.includes(own);
}

function npmCi(root) {
  const npm = process.env.npm_execpath;
  const [command, args] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  return new Promise((resolve, reject) => {
    // npm's own words go to stderr, so that a command's --json output stays one JSON object.
    const child = spawn(
      command,
      [...args, 'ci', '--include=dev', '--prefer-offline', '--loglevel=error', '--no-audit', '--no-fund'],
      {
        cwd: root,
        env: process.env,
        stdio: ['ignore', process.stderr.fd, process.stderr.fd],
      },
    );
    child.once('error', (error) => reject(new Error(`Failed to start npm: ${error.message}`)));
    child.once('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`npm ci failed (${signal ?? `exit code ${code}`}).`));
    });
  });
}
