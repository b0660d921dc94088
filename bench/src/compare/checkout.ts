import { execFileSync } from 'node:child_process';
import { constants, cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { repositoryRoot } from '@eligo/stack';
import { NotUnderstood } from '../not-understood.ts';

/** A folder that holds Eligo's code. */
export interface Checkout {
  readonly folder: string;
  readonly name: string;
  /** Removes it, if the bench made it. */
  remove(): void;
}

/** The code that the bench itself belongs to. */
export const presentCheckout: Checkout = { folder: repositoryRoot, name: 'present', remove: () => undefined };

/** The code of a folder as it is, or of a commit, which is checked out below `within`. */
export function openCheckout(folderOrCommit: string, within: string): Checkout {
  const folder = resolve(folderOrCommit);
  if (existsSync(folder) && statSync(folder).isDirectory()) {
    if (!existsSync(bootstrapOf(folder))) throw new NotUnderstood(`${folder} holds no Eligo`);
    return { folder, name: folderOrCommit, remove: () => undefined };
  }
  return checkOut(folderOrCommit, within);
}

/** The program that every npm command of a checkout runs. */
export function bootstrapOf(folder: string): string {
  return join(folder, 'scripts', 'bootstrap.mjs');
}

function checkOut(commit: string, within: string): Checkout {
  const hash = commitOf(commit);
  const folder = join(mkdtempSync(join(within, 'checkout-')), hash.slice(0, 12));
  git('worktree', 'add', '--detach', folder, hash);
  takeOverPackages(folder);
  return {
    folder,
    name: commit,
    remove() {
      git('worktree', 'remove', '--force', folder);
      rmSync(resolve(folder, '..'), { recursive: true, force: true });
    },
  };
}

function commitOf(text: string): string {
  try {
    return git('rev-parse', '--verify', '--quiet', '--end-of-options', `${text}^{commit}`).trim();
  } catch (error) {
    throw new NotUnderstood(`${text} is neither a folder nor a commit`, { cause: error });
  }
}

// The same lock file means the same packages; links to workspaces are relative, so those of a copy lead into the checkout. With another lock
// file the checkout's own bootstrap installs.
function takeOverPackages(folder: string): void {
  const lock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8');
  if (lock(folder) !== lock(repositoryRoot)) return;
  cpSync(join(repositoryRoot, 'node_modules'), join(folder, 'node_modules'), {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
  });
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
