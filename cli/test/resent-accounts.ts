import { type Constellation, waitUntil } from '@eligo/testkit';
import { beforeAll, describe, expect, it } from 'vitest';

type Json = (...args: string[]) => Promise<{ code: number; answer: Record<string, unknown> }>;

/** What billing and checkout have of an account. */
interface Known {
  readonly features: string[];
  readonly name: string;
  readonly substantiation: string | null;
}

// What the gateway tells, where a peer keeps it.
const tables = ['billing.account_features', 'billing.shop_names', 'checkout.health_card_statements'];
const queues = ['features_to_tell', 'shop_names_to_tell', 'statements_to_tell'];

/** Tests of the command that has the gateway tell what accounts are. */
export function resendTests(using: () => Constellation, json: Json): void {
  const admin = <Row extends object>(text: string, values: unknown[] = []) => using().database.admin<Row>(text, values);

  describe('accounts resend, after a restore of one schema', () => {
    let account: string;
    const before = { features: ['receipts'], name: 'Before', substantiation: 'iias' };
    const after = { features: ['partial_approvals'], name: 'After', substantiation: 'medical_mcc' };

    const knownToPeers = async (): Promise<Known[]> =>
      admin<Known & { live: boolean }>(
        `select f.features, n.name, h.substantiation from billing.account_features f
           join billing.shop_names n using (account_id) join checkout.health_card_statements h using (account_id)
          where account_id = $1 order by f.test_mode`,
        [account],
      );
    const untilTold = (value: Known) =>
      waitUntil(async () => {
        const known = await knownToPeers();
        return known.length === 2 && known.every((one) => JSON.stringify(one) === JSON.stringify(value));
      });
    const untilNoneIsQueued = () =>
      waitUntil(async () => {
        const queued = queues.map((queue) => `select from gateway.${queue} where account_id = '${account}'`);
        return (await admin(queued.join(' union all '))).length === 0;
      });
    const become = async ({ features: [feature = ''], name, substantiation }: typeof before, without: string) => {
      const words = ['--feature', feature, '--no-feature', without, '--name', name, '--substantiation', substantiation];
      expect((await json('accounts', 'update', account, ...words)).code).toBe(0);
    };
    const resend = async () => {
      const { code, answer } = await json('accounts', 'resend');
      const [all] = await admin<{ count: bigint }>('select count(*) from gateway.accounts');
      expect({ code, answer }).toEqual({ code: 0, answer: { accounts: Number(all?.count) } });
    };

    beforeAll(async () => {
      account = String((await json('accounts', 'create', '--name', 'New')).answer.account);
      await become(before, 'partial_approvals');
      await untilTold(before);
    });

    it('of the peers, tells them what they lost [D14.358]', async () => {
      for (const table of tables) await admin(`create table ${table}_backup as table ${table}`);
      await become(after, 'receipts');
      await untilTold(after);
      for (const table of tables) {
        await admin(`delete from ${table}`);
        await admin(`insert into ${table} select * from ${table}_backup`);
        await admin(`drop table ${table}_backup`);
      }
      // What was lost need not be a change: an account is new to a peer then.
      await admin(`delete from billing.shop_names where account_id = $1`, [account]);
      await resend();
      await untilTold(after);
    });

    it('of the gateway, tells its peers what they took for older than what they know [D14.358]', async () => {
      await become(after, 'receipts');
      await untilTold(after);
      for (const queue of queues) await admin(`select setval('gateway.${queue}_version_seq', 1)`);
      await become(before, 'partial_approvals');
      await untilNoneIsQueued();
      expect(await knownToPeers()).toEqual([after, after]);
      await resend();
      await untilTold(before);
      // Later changes are told as ever.
      await become(after, 'receipts');
      await untilTold(after);
    });

    it('is a row of the audit log of the gateway [D14.358]', async () => {
      await resend();
      const { actions } = (await json('audit', 'list', '--service', 'gateway', '--limit', '1')).answer;
      expect(actions).toMatchObject([{ action: 'accounts resend', account_id: null, refused: false }]);
    });
  });
}
