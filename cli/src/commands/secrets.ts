import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { resealAnswers } from '@eligo/checkout';
import { type Keyring, openKeyring } from '@eligo/service';
import { composeVariables, generateSecrets, secretsOf } from '@eligo/stack';
import { resealSecrets } from '@eligo/webhooks';
import { type Command, UsageError } from '../command.ts';
import { withEverything } from '../connect.ts';
import { progressBar } from '../progress-bar.ts';
import { runningStack } from '../running-stack.ts';
import { variable } from '../variable.ts';

/** Secrets for an installation. */
export const secretCommands: readonly Command[] = [
  {
    name: 'secrets generate',
    usage: '',
    summary:
      'Prints new secrets as the .env file that docker-compose.yml reads. Keep the file; sealed values cannot be opened without it.',
    options: {},
    async run() {
      const variables = composeVariables(generateSecrets());
      return {
        json: variables,
        lines: Object.entries(variables).map(([name, value]) => `${name}='${value}'`),
      };
    },
  },
  {
    name: 'secrets init',
    usage: '[--file .env]',
    summary:
      'Writes new secrets to the .env file that docker-compose.yml reads, readable by its owner alone. Refuses to replace a file: values sealed under a lost keyring cannot be opened.',
    options: { file: { type: 'string' } },
    async run({ text }) {
      const path = resolve(text('file') ?? '.env');
      const variables = composeVariables(generateSecrets());
      const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
      try {
        writeFileSync(path, lines.join(''), { mode: 0o600, flag: 'wx' });
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
        throw new UsageError(`${path} exists; its secrets are in use. Choose another file, or move it away`);
      }
      return { json: { file: path, variables: Object.keys(variables) }, lines: [`Wrote ${path}. Keep it safe.`] };
    },
  },
  {
    name: 'secrets reseal',
    usage: '',
    summary:
      'Reseals webhook secrets and the answers of letters under the first key of ELIGO_KEYRING. Afterwards the old keys can be removed. Safe to stop and repeat. Uses DATABASE_URL and ELIGO_KEYRING, or the running stack.',
    options: {},
    async run({ say }) {
      const bar = progressBar(say);
      const keyring = givenKeyring();
      const { total, resealed, current, changed, unopened } = await withEverything('webhooks', (database) =>
        resealSecrets({
          database,
          keyring,
          onProgress: ({ done, total: all }) => bar(done / all, `${done} of ${all} secrets`),
        }),
      );
      const answers = await withEverything('checkout', (database) => resealAnswers(database, keyring));
      return {
        json: { total, resealed, current, changed_meanwhile: changed, unopened, letter_answers: answers },
        lines: [
          ...unopened.map((id) => `cannot be opened with any key of the keyring  ${id}`),
          ...answers.unopened.map((id) => `cannot be opened with any key of the keyring  ${id}`),
          `${total} secrets: ${resealed} resealed, ${current} already under the first key, ${changed} changed meanwhile, ${unopened.length} not opened`,
          `${answers.total} letters: answers of ${answers.resealed} resealed, of ${answers.unopened.length} not opened`,
        ],
        failed: unopened.length + answers.unopened.length > 0,
      };
    },
  },
];

function givenKeyring(): Keyring {
  return openKeyring(variable('ELIGO_KEYRING') ?? secretsOf(runningStack().home).keyring);
}
