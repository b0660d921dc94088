import { type Constellation, waitUntil } from '@eligo/testkit';
import { describe, expect, it } from 'vitest';

/** A service that runs, answers reads, and says on its own port that it is not ready. */
export function describeUnreadyPart(started: () => Constellation): void {
  describe('a service with pending migrations', () => {
    it('is named by the public /readyz until they are applied [D14.392]', async () => {
      const eligo = started();
      const { admin } = eligo.database;
      const asked = async (base: string) => {
        const { status, checks, reasons } = (await (await fetch(`${base}/readyz`)).json()) as {
          readonly status: string;
          readonly checks: Readonly<Record<string, string>>;
          readonly reasons?: Readonly<Record<string, string>>;
        };
        return { status, refunds: checks.refunds, services: checks.services, reason: reasons?.refunds };
      };
      const last = '(select max(id) from refunds.migrations)';
      const rows = await admin<Record<string, unknown>>(
        `delete from refunds.migrations where id = ${last} returning *`,
      );
      try {
        // It looks at its start.
        eligo.kill('refunds');
        const reason = 'unavailable: migrations';
        const isNamed = async () => (await asked(eligo.adminOf('gateway'))).reason === reason;
        await waitUntil(isNamed, { withinMs: 60_000, what: 'the reason on the admin port' });
        const isPublic = async () => (await asked(eligo.url)).refunds === 'failed';
        await waitUntil(isPublic, { withinMs: 10_000, what: 'the name on the public page' });
        expect(await asked(eligo.url)).toEqual({ status: 'degraded', refunds: 'failed', services: 'ok' });
      } finally {
        await admin(
          'insert into refunds.migrations select * from json_populate_recordset(null::refunds.migrations, $1)',
          [JSON.stringify(rows)],
        );
      }
      const isWell = async () => (await asked(eligo.url)).refunds === 'ok';
      await waitUntil(isWell, { withinMs: 60_000, what: 'a service that is ready' });
    }, 180_000);
  });
}
