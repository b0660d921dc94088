import { accountAttacks } from './account-attacks.ts';
import type { Attack } from './attack.ts';
import { bodyAttacks } from './body-attacks.ts';
import { cartAttacks } from './cart-attacks.ts';
import { endpointAttacks } from './endpoint-attacks.ts';
import { listAttacks } from './list-attacks.ts';
import { longAttacks } from './long-attacks.ts';
import { pageAttacks } from './page-attacks.ts';
import { writeAttacks } from './write-attacks.ts';

/** Attacks by how an account makes them: with its key, by every write route, on its pages, by its webhook endpoints, or by requests of its key that cause long work. */
export const attacks = {
  keys: [...cartAttacks, ...listAttacks, ...accountAttacks, ...bodyAttacks],
  writes: writeAttacks,
  pages: pageAttacks,
  endpoints: endpointAttacks,
  long: longAttacks,
} as const satisfies Readonly<Record<string, readonly Attack[]>>;

export type AttackKind = keyof typeof attacks;

export const attackKinds = Object.keys(attacks) as readonly AttackKind[];

/** The attack of this name. */
export function attackNamed(name: string): Attack {
  const found = Object.values<readonly Attack[]>(attacks)
    .flat()
    .find((attack) => attack.name === name);
  if (found === undefined) throw new Error(`no attack is called ${name}`);
  return found;
}
