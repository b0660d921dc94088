import { componentNames } from './components.ts';
import type { Secrets } from './secrets.ts';

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
    ELIGO_OPERATOR_KEY: secrets.operatorKey,
    ELIGO_OPERATOR_PUBLIC_KEY: secrets.operatorPublicKey,
    ELIGO_SERVICE_PUBLIC_KEYS: JSON.stringify(secrets.publicKeys),
    ELIGO_SANDBOX_KEY: secrets.sandboxKey,
    ELIGO_SANDBOX_EVENTS_SECRET: secrets.sandboxEventsSecret,
    ELIGO_PAGE_KEY: secrets.pageKey,
    POSTGRES_PASSWORD: secrets.postgresPassword,
    ADMIN_NATS_PASSWORD: secrets.natsPasswords.admin,
    OWNER_DATABASE_PASSWORD: secrets.databasePasswords.owner,
    ...Object.fromEntries(perComponent),
  };
}
