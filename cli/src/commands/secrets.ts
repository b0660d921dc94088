import { composeVariables, generateSecrets } from '@eligo/stack';
import type { Command } from '../command.ts';

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
];
