import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '@eligo/stack';

/** The folder below which the bench keeps what it makes. */
export function homesFolder(): string {
  const folder = join(repositoryRoot, '.eligo', 'bench');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** A fresh home for a stack. */
export function newHome(): string {
  return mkdtempSync(join(homesFolder(), 'run-'));
}
