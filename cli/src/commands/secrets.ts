import { type Keyring, openKeyring } from '@eligo/service';
import { composeVariables, generateSecrets, secretsOf } from '@eligo/stack';
import { resealSecrets } from '@eligo/webhooks';
import type { Command } from '../command.ts';
import { runningStack, withEverything } from '../connect.ts';
import { progressBar } from '../progress-bar.ts';

/** Secrets for an installation. */
export const secretCommands: readonly Command[] = [
  {
    name: 'secrets generate',
    usage: '',
    summary:
      'Prints new secrets as the .env file that docker-compose.yml reads. Keep it: it opens what was sealed under it.',
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
    name: 'secrets reseal',
    usage: '',
    summary:
      'Seals what is kept sealed (webhook secrets) anew under the first key of ELIGO_KEYRING; after it the old keys may go. May be stopped and repeated. By DATABASE_URL and ELIGO_KEYRING, or in the running stack.',
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
      return {
        json: { total, resealed, current, changed_meanwhile: changed, unopened },
        lines: [
          ...unopened.map((id) => `opens under no key of the ring  ${id}`),
          `${total} secrets: ${resealed} sealed anew, ${current} were under the first key, ${changed} changed meanwhile, ${unopened.length} not opened`,
        ],
        failed: unopened.length > 0,
      };
    },
  },
];

function givenKeyring(): Keyring {
  return openKeyring(process.env.ELIGO_KEYRING || secretsOf(runningStack().home).keyring);
}
