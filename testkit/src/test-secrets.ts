import { writeFileSync } from 'node:fs';
import { componentNames, generateSecrets, type Home, perComponent, type Secrets } from '@eligo/stack';
import { type TestDatabase, testPasswords } from './test-database.ts';

/** Gives a home its secrets, with the passwords that the roles of the test server have for all its databases. */
export function prepareTestSecrets(home: Home, database: TestDatabase): Secrets {
  const passwords = testPasswords(database.adminUrl, ['owner', ...componentNames]);
  const passwordOf = (role: string) => passwords[role] ?? '';
  const secrets: Secrets = {
    ...generateSecrets(),
    databasePasswords: { ...perComponent(passwordOf), owner: passwordOf('owner') },
  };
  writeTestSecrets(home, secrets);
  return secrets;
}

/** Puts secrets where a stack of that home finds them. */
export function writeTestSecrets(home: Home, secrets: Secrets): void {
  writeFileSync(home.secretsFile, JSON.stringify(secrets), { mode: 0o600 });
}
