import type { Api, Constellation } from '@eligo/testkit';
import { text } from '../records.ts';
import { runCli } from '../run-cli.ts';

/** An account that attacks others, in test mode. */
export interface AttackingAccount {
  readonly eligo: Constellation;
  readonly id: string;
  /** A key that admits so many requests a second, and one without a limit, to make what the attack needs. */
  readonly perSecond: number;
  readonly api: Api;
  readonly unlimited: Api;
}

export async function openAttackingAccount(eligo: Constellation, perSecond: number): Promise<AttackingAccount> {
  const made = await runCli(eligo, ['accounts', 'create', '--name', 'Neighbor', '--feature', 'receipts']);
  const id = text(made, 'account');
  const keyOf = async (limit: number) => {
    const given = ['--account', id, '--mode', 'test', '--rate-limit', String(limit)];
    return eligo.api(text(await runCli(eligo, ['keys', 'create', ...given]), 'api_key'));
  };
  return { eligo, id, perSecond, api: await keyOf(perSecond), unlimited: await keyOf(0) };
}
