import { resolve } from 'node:path';
import { backUp, defaultHomePath, restore } from '@eligo/stack';
import type { Command, Given } from '../command.ts';
import { withAccounts } from '../connect.ts';
import { runningStack } from '../running-stack.ts';

/** A stack of npm start, kept elsewhere and brought back. */
export const backupCommands: readonly Command[] = [
  {
    name: 'backup',
    usage: '--to FOLDER --secrets FILE',
    summary:
      'Backs up the running stack of npm start with its embedded Postgres, while it serves: data to a new folder, secrets to a new file. Keep the two apart: without the secrets, sealed values cannot be opened.',
    options: { to: { type: 'string' }, secrets: { type: 'string' } },
    async run(given) {
      const { home, file } = runningStack();
      const { folder, secretsFile } = places(given, 'to');
      // Whoever has a copy of all data is in the audit log, and in the copy's.
      await withAccounts(async () => undefined);
      const note = await backUp(home, file, { folder, secretsFile });
      return {
        json: { folder, secrets: secretsFile, ...note },
        lines: [`Backed up ${home.root} to ${folder}; its secrets are in ${secretsFile}. Keep the two apart.`],
      };
    },
  },
  {
    name: 'restore',
    usage: '--from FOLDER --secrets FILE',
    summary:
      'Restores a backup into ELIGO_HOME, which must be empty. Then run npm start there. JetStream starts empty and is refilled from the outboxes.',
    options: { from: { type: 'string' }, secrets: { type: 'string' } },
    async run(given) {
      const home = defaultHomePath();
      const { folder, secretsFile } = places(given, 'from');
      const note = await restore(home, { folder, secretsFile });
      return {
        json: { home, ...note },
        lines: [
          `Restored the backup of ${note.created_at} into ${home}.`,
          'Run npm start there, then ledger check and events missing.',
        ],
      };
    },
  },
];

function places(given: Given, option: 'to' | 'from'): { folder: string; secretsFile: string } {
  return { folder: resolve(given.needed(option)), secretsFile: resolve(given.needed('secrets')) };
}
