import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { seedRecords } from '@eligo/gateway/probes';
import { programFile } from '@eligo/processes/programs';
import { repositoryRoot } from '@eligo/stack';
import { apiClient } from '@eligo/testkit';
import type { Installation } from '../compare/installation.ts';
import { quiet } from '../quiet.ts';
import type { GrowthRecords } from './cases.ts';
import { multiplyRecords } from './multiply.ts';

/** An account with as many records in each table, made once and written down in `file`. */
export async function growthRecords(
  installation: Installation,
  file: string,
  records: number,
  onShort: (what: string) => void,
): Promise<GrowthRecords> {
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as GrowthRecords;
  const { postgres, file: stack } = installation;
  const api = apiClient(stack.gateway, stack.test_api_key);
  issueReceipts(installation);
  const seeded = await seedRecords(stack.gateway, stack.test_api_key, { receipts: true });
  // Nobody listens at the endpoint of the probes: told of what hardly happens, it costs the operations nothing.
  const endpoint = `/v1/webhooks/${seeded.own.webhook_endpoint}`;
  await api.ok('POST', endpoint, { body: { webhook: { events: ['consultation.denied'] } } });
  const intent = await api.ok('GET', `/v1/payment_intents/${seeded.own.payment_intent}`);
  const paidSession = /fcs_[0-9a-z]{26}/.exec(JSON.stringify(intent))?.[0];
  if (paidSession === undefined) throw new Error('a payment intent without its session');
  await quiet(postgres);
  for (const statement of nothingDue) await postgres.query(statement);
  const copies = await multiplyRecords(postgres, stack.account, records, onShort);
  const made = { ...seeded, apiKey: stack.test_api_key, paidSession, copies };
  writeFileSync(file, JSON.stringify(made), { mode: 0o600 });
  return made;
}

// As an operator turns the feature on.
function issueReceipts({ file: { account, postgres } }: Installation): void {
  execFileSync(
    process.execPath,
    [programFile(repositoryRoot, 'cli'), 'accounts', 'update', account, '--feature', 'receipts'],
    {
      env: { ...process.env, DATABASE_URL: postgres },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
}

// What is copied must not fall due while the copies are measured: a million sessions that expire are another measurement.
const nothingDue = [
  `update checkout.sessions set expires_at = now() + interval '20 years' where status = 'open'`,
  `update webhooks.deliveries set status = 'succeeded', next_attempt_at = null, delivered_at = now()`,
  `update billing.receipt_mails set status = 'sent', next_try_at = null, sent_at = now() where status = 'pending'`,
  `update refunds.disputes set next_check_at = null`,
  `update refunds.payouts set status = 'paid', is_noted = true, next_look_at = null`,
  `update refunds.refund_attempts set status = 'ended' where status = 'accepted'`,
];
