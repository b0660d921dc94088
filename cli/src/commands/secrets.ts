import { componentNames, generateSecrets, type Secrets } from '@eligo/stack';
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

/** The variables of docker-compose.yml that hold secrets. */
export function composeVariables(secrets: Secrets): Record<string, string> {
  const perComponent = componentNames.flatMap((name) => {
    const upper = name.toUpperCase();
    return [
      [`${upper}_SERVICE_KEY`, secrets.privateKeys[name] ?? ''],
      [`${upper}_DATABASE_PASSWORD`, secrets.databasePasswords[name]],
      [`${upper}_NATS_PASSWORD`, secrets.natsPasswords[name]],
    ];
  });
  return {
    ELIGO_KEYRING: secrets.keyring,
    ELIGO_OPERATOR_TOKEN: secrets.operatorToken,
    ELIGO_SERVICE_PUBLIC_KEYS: JSON.stringify(secrets.publicKeys),
    ELIGO_SANDBOX_KEY: secrets.sandboxKey,
    POSTGRES_PASSWORD: secrets.postgresPassword,
    OWNER_DATABASE_PASSWORD: secrets.databasePasswords.owner,
    ...Object.fromEntries(perComponent),
  };
}
