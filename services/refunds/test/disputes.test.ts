import type { Scope } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { disputeFailpoints } from '../src/failpoints.ts';
import { eventsOf, type Fixture, openFixture, someScope } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
afterEach(() => {
  turnFailpointsOff();
  turnFailpointsOn();
});

async function paid() {
  const scope = someScope();
  const session = await on.paid(scope, { hsa: 2_000 });
  const [card] = session.cards;
  if (card === undefined) throw new Error('nothing was paid');
  return { scope, session, card };
}

async function disputed(fields: { amountCents?: bigint; inquiry?: boolean } = {}) {
  const { scope, session, card } = await paid();
  const made = await on.refunds.createTestDispute({ chargeId: card.chargeId, ...fields }, on.as(scope));
  const [row] = await on.admin<{ processor_dispute_id: string }>(
    'select processor_dispute_id from refunds.disputes where id = $1',
    [made.disputeId],
  );
  return { scope, session, card, made, id: made.disputeId, atProcessor: row?.processor_dispute_id ?? '' };
}

const read = (scope: Scope, id: string) => on.refunds.getDispute({ id }, on.as(scope));
const heldOf = (id: string) => on.checkout.disputes.get(id)?.held;
const moved = (id: string) =>
  on.admin<{ type: string; amount_cents: string; fee_cents: string }>(
    `select type, amount_cents::text, fee_cents::text from refunds.balance_transactions where source_id = $1 order by amount_cents`,
    [id],
  );

describe('a dispute', () => {
  it('is opened by the bank, holds money, and is lost or won by its evidence [D14.122] [D14.124] [RUN-6]', async () => {
    const { scope, session, card, made, id } = await disputed({ amountCents: 600n });
    expect(made).toMatchObject({
      ...{ amountCents: 600n, currency: 'usd', status: 'needs_response', reason: 'fraudulent', testMode: true },
      ...{ chargeId: card.chargeId, paymentIntentId: card.paymentIntentId, hasEvidence: false, pastDue: false },
      balanceTransactionIds: [expect.stringMatching(/^fbtxn_/)],
    });
    expect(heldOf(id)).toBe(600n);
    const draft = { id, evidence: { product_description: 'A thermometer', customer_name: 'Ada' }, submit: false };
    expect(await on.refunds.updateDispute(draft, on.as(scope))).toMatchObject({
      ...{ status: 'needs_response', evidence: draft.evidence, hasEvidence: true, submissionCount: 0 },
    });
    const won = { id, evidence: { uncategorized_text: 'winning_evidence', customer_name: '' }, submit: true };
    expect(await on.refunds.updateDispute(won, on.as(scope))).toMatchObject({
      status: 'won',
      evidence: { product_description: 'A thermometer', uncategorized_text: 'winning_evidence' },
      submissionCount: 1,
    });
    expect(heldOf(id)).toBe(0n);
    expect(await moved(id)).toEqual([
      { type: 'dispute', amount_cents: '-600', fee_cents: '1500' },
      { type: 'dispute_reversal', amount_cents: '600', fee_cents: '-1500' },
    ]);
    const events = ['created', 'funds_withdrawn', 'updated', 'closed', 'funds_reinstated'];
    expect(await eventsOf(on, id)).toEqual(events.map((name) => `charge.dispute.${name}`));
    for (const filter of [
      { checkoutSessionId: session.id },
      { chargeId: card.chargeId },
      { paymentIntentId: card.paymentIntentId },
    ]) {
      const { disputes } = await on.refunds.listDisputes(filter, on.as(scope));
      expect(disputes.map(({ disputeId }) => disputeId)).toEqual([id]);
    }
    await expect(read(someScope(), id)).rejects.toMatchObject({ code: 'dispute_not_found' });
    expect((await on.refunds.listDisputes({ chargeId: newId('charge') }, on.as(scope))).disputes).toEqual([]);
  });

  it('is recorded also where its money was refunded before, with a warning and a count [D14.124]', async () => {
    const { scope, card } = await paid();
    const bank = on.port(scope).testBank;
    on.checkout.refundedBefore.add(card.processorChargeId);
    const opened = await bank.disputeCharge({ chargeId: card.processorChargeId });
    if (opened.kind !== 'found') throw new Error('no dispute');
    await on.arrives(scope, 'charge.dispute.created', opened.disputeId);
    await on.handleEvents();
    const { disputes } = await on.refunds.listDisputes({ chargeId: card.chargeId }, on.as(scope));
    expect(disputes).toMatchObject([{ status: 'needs_response', amountCents: 2_000n }]);
    const id = disputes[0]?.disputeId ?? '';
    expect(heldOf(id)).toBe(2_000n);
    // A later look at the same status tells nothing new.
    await on.lookAtDisputes();
    const warnings = on.log
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((one) => one.disputeId === id);
    expect(warnings).toMatchObject([{ level: 'warn', msg: 'Dispute withholds an amount that was already refunded' }]);
    expect(await on.service.metrics.page()).toMatch(/^eligo_disputes_beyond_received_total\{service="refunds"\} 1$/m);
    await bank.decideDispute(opened.disputeId, 'lost');
    await on.lookAtDisputes();
    expect((await read(scope, id)).status).toBe('lost');
    expect(await on.service.metrics.page()).toMatch(/^eligo_disputes_beyond_received_total\{service="refunds"\} 2$/m);
  });

  it('tells no text of its evidence to the event bus [D14.122]', async () => {
    const { scope, id } = await disputed();
    await on.refunds.updateDispute({ id, evidence: { customer_name: 'Canary Finch' } }, on.as(scope));
    const [{ count } = { count: '' }] = await on.admin<{ count: string }>(
      `select count(*)::text as count from refunds.outbox where aggregate_id = $1 and position('Canary'::bytea in payload) > 0`,
      [id],
    );
    expect(count).toBe('0');
    expect((await read(scope, id)).evidence).toEqual({ customer_name: 'Canary Finch' });
  });

  it('as an inquiry holds no money until it becomes a dispute [D14.123] [D14.124]', async () => {
    const { scope, made, id, atProcessor } = await disputed({ inquiry: true });
    expect(made).toMatchObject({ status: 'warning_needs_response', balanceTransactionIds: [] });
    expect(heldOf(id)).toBe(0n);
    await on.port(scope).testBank.moveDispute(atProcessor, 'needs_response');
    await on.arrives(scope, 'charge.dispute.funds_withdrawn', atProcessor);
    await on.handleEvents();
    expect(await read(scope, id)).toMatchObject({ status: 'needs_response' });
    expect(heldOf(id)).toBe(2_000n);
    expect(await on.refunds.closeDispute({ id }, on.as(scope))).toMatchObject({ status: 'lost' });
    expect(heldOf(id)).toBe(2_000n);
    const events = ['created', 'updated', 'funds_withdrawn', 'closed'];
    expect(await eventsOf(on, id)).toEqual(events.map((name) => `charge.dispute.${name}`));
  });

  it('ends the same whether its events come twice, late, out of order, or not at all [D14.120] [D14.122]', async () => {
    const { scope, card } = await paid();
    const bank = on.port(scope).testBank;
    const opened = await bank.disputeCharge({ chargeId: card.processorChargeId });
    if (opened.kind !== 'found') throw new Error('no dispute');
    await bank.decideDispute(opened.disputeId, 'lost');
    for (const name of ['closed', 'created', 'closed', 'funds_withdrawn']) {
      await on.arrives(scope, `charge.dispute.${name}`, opened.disputeId);
      await on.handleEvents();
    }
    const { disputes } = await on.refunds.listDisputes({ chargeId: card.chargeId }, on.as(scope));
    const id = disputes[0]?.disputeId ?? '';
    expect(disputes).toMatchObject([{ status: 'lost' }]);
    const events = ['created', 'funds_withdrawn', 'closed'].map((name) => `charge.dispute.${name}`);
    expect(await eventsOf(on, id)).toEqual(events);
    // No event tells of the appeal.
    await bank.moveDispute(opened.disputeId, 'appeal_under_review');
    await on.lookAtDisputes();
    expect((await read(scope, id)).status).toBe('under_review');
    await bank.moveDispute(opened.disputeId, 'appeal_won');
    await on.lookAtDisputes();
    expect((await read(scope, id)).status).toBe('won');
  });

  it('keeps its status when the processor calls it an inquiry, and shows one that is not known [D14.123]', async () => {
    const { scope, id, atProcessor } = await disputed();
    const bank = on.port(scope).testBank;
    await bank.moveDispute(atProcessor, 'brand_new_status');
    await on.lookAtDisputes();
    expect((await read(scope, id)).status).toBe('under_review');
    expect(heldOf(id)).toBe(2_000n);
    await bank.moveDispute(atProcessor, 'warning_under_review');
    await on.lookAtDisputes();
    expect((await read(scope, id)).status).toBe('under_review');
    await bank.moveDispute(atProcessor, 'prevented');
    await on.lookAtDisputes();
    expect((await read(scope, id)).status).toBe('prevented');
    expect(heldOf(id)).toBe(0n);
  });
});

it('puts off the look at a dispute of a processor that no longer serves the mode', async () => {
  const { accountId } = someScope();
  const dispute = `insert into refunds.disputes (account_id, test_mode, id, processor, processor_account, processor_dispute_id, lease_until, next_check_at)
    values ($1, true, 'fdp_elsewhere', 'stripe', 'acct_elsewhere', 'du_elsewhere', now() - interval '1 minute', now() - interval '1 minute')`;
  await on.admin(dispute, [accountId]);
  await on.service.jobs.runOnce('look-at-disputes');
  const due = `select 1 from refunds.disputes where account_id = $1 and next_check_at > now() + interval '50 minutes'`;
  expect(await on.admin(due, [accountId])).toHaveLength(1);
});

describe('what a dispute refuses', () => {
  const code = (name: string) => ({ code: name });

  it('takes evidence only while it needs a response, and only before its deadline [D14.125]', async () => {
    const { scope, id } = await disputed();
    await on.admin(`update refunds.disputes set due_by = now() - interval '1 minute' where id = $1`, [id]);
    const late = { id, evidence: { product_description: 'x' } };
    await expect(on.refunds.updateDispute(late, on.as(scope))).rejects.toMatchObject({
      violations: [{ loc: ['body', 'dispute', 'evidence'], type: 'evidence_past_due' }],
    });
    expect(await read(scope, id)).toMatchObject({ pastDue: true, evidence: {} });
    await on.admin(`update refunds.disputes set due_by = now() + interval '1 day' where id = $1`, [id]);
    expect(await on.refunds.updateDispute({ id, submit: true }, on.as(scope))).toMatchObject({
      status: 'under_review',
    });
    await expect(on.refunds.updateDispute(late, on.as(scope))).rejects.toMatchObject(code('dispute_not_open'));
    await expect(on.refunds.updateDispute({ id, submit: true }, on.as(scope))).rejects.toMatchObject(
      code('dispute_not_open'),
    );
    const metadata = { id, metadata: { ticket: '7' }, replaceMetadata: true };
    expect((await on.refunds.updateDispute(metadata, on.as(scope))).metadata).toEqual({ ticket: '7' });
    expect(await on.refunds.closeDispute({ id }, on.as(scope))).toMatchObject({
      status: 'lost',
      metadata: { ticket: '7' },
    });
    await expect(on.refunds.closeDispute({ id }, on.as(scope))).rejects.toMatchObject(code('dispute_not_open'));
    const foreign = on.as(someScope());
    await expect(on.refunds.updateDispute(late, foreign)).rejects.toMatchObject(code('dispute_not_found'));
    await expect(on.refunds.closeDispute({ id }, foreign)).rejects.toMatchObject(code('dispute_not_found'));
  });

  it('names the evidence when its pages are over the limit of the card’s network, and a shorter one is submitted [D14.254]', async () => {
    const { scope, id } = await disputed();
    const submit = (text: string) =>
      on.refunds.updateDispute({ id, evidence: { uncategorized_text: text }, submit: true }, on.as(scope));
    await expect(submit('too_many_pages')).rejects.toMatchObject({
      status: 422,
      violations: [{ loc: ['body', 'dispute', 'evidence'], type: 'evidence_too_many_pages' }],
    });
    expect(await read(scope, id)).toMatchObject({ status: 'needs_response', hasEvidence: false, submissionCount: 0 });
    expect(await submit('In short')).toMatchObject({ status: 'under_review', submissionCount: 1 });
  });

  it('disputes a charge once, of test mode alone, and no foreign one', async () => {
    const { scope, card } = await disputed();
    const again = { chargeId: card.chargeId };
    await expect(on.refunds.createTestDispute(again, on.as(scope))).rejects.toMatchObject(code('conflict'));
    const live = { ...scope, testMode: false };
    await expect(on.refunds.createTestDispute(again, on.as(live))).rejects.toMatchObject(code('test_mode_required'));
    const missing = { chargeId: newId('charge') };
    await expect(on.refunds.createTestDispute(missing, on.as(scope))).rejects.toMatchObject(code('charge_not_found'));
  });

  it('drops a dispute of a charge that Eligo did not make', async () => {
    const { scope, card } = await paid();
    const elsewhere = someScope();
    const stray = await on.paid(elsewhere, { credit: 700 });
    // Known to no checkout: the session was paid by other software on the same account of the processor.
    const opened = await on
      .port(elsewhere)
      .testBank.disputeCharge({ chargeId: stray.cards[0]?.processorChargeId ?? '' });
    if (opened.kind !== 'found') throw new Error('no dispute');
    on.checkout.forgets(stray.id);
    await on.arrives(elsewhere, 'charge.dispute.created', opened.disputeId);
    await on.handleEvents();
    expect((await on.refunds.listDisputes({}, on.as(elsewhere))).disputes).toEqual([]);
    await on.admin(
      `update refunds.processor_events set received_at = now() - interval '61 minutes' where object_id = $1`,
      [opened.disputeId],
    );
    await on.handleEvents();
    const [event] = await on.admin<{ status: string }>(
      'select status from refunds.processor_events where object_id = $1',
      [opened.disputeId],
    );
    expect(event?.status).toBe('dropped');
    expect((await on.refunds.listDisputes({ chargeId: card.chargeId }, on.as(scope))).disputes).toEqual([]);
  });
});

describe('a process that stops, and answers that are lost', () => {
  it.each(disputeFailpoints.filter((name) => name !== 'dispute.after_change'))(
    'at %s records each part of a dispute once [D14.122]',
    async (name) => {
      const { scope, card } = await paid();
      const opened = await on.port(scope).testBank.disputeCharge({ chargeId: card.processorChargeId });
      if (opened.kind !== 'found') throw new Error('no dispute');
      await on.arrives(scope, 'charge.dispute.created', opened.disputeId);
      armFailpoint(name, { action: 'error' });
      await on.handleEvents();
      turnFailpointsOff();
      await on.restart();
      await on.lookAtDisputes();
      await on.handleEvents();
      const { disputes } = await on.refunds.listDisputes({ chargeId: card.chargeId }, on.as(scope));
      expect(disputes).toMatchObject([{ status: 'needs_response' }]);
      const id = disputes[0]?.disputeId ?? '';
      expect(await eventsOf(on, id)).toEqual(['charge.dispute.created', 'charge.dispute.funds_withdrawn']);
      expect(await moved(id)).toHaveLength(1);
      expect(heldOf(id)).toBe(2_000n);
    },
  );

  it.each([
    ['disputes.update', 'drop_before', 'needs_response'],
    ['disputes.update', 'drop_after', 'under_review'],
    ['disputes.update', 'error_after', 'under_review'],
  ])('answers 503 when %s ends with %s, and shows what the processor has [D14.125]', async (call, kind, status) => {
    const { scope, id } = await disputed();
    await on.fault({ call, kind });
    const submit = () =>
      on.refunds.updateDispute({ id, evidence: { product_description: 'x' }, submit: true }, on.as(scope));
    await expect(submit()).rejects.toMatchObject({ code: 'service_unavailable' });
    await on.lookAtDisputes();
    expect((await read(scope, id)).status).toBe(status);
    if (status === 'needs_response')
      expect(await submit()).toMatchObject({ status: 'under_review', submissionCount: 1 });
    else await expect(submit()).rejects.toMatchObject({ code: 'dispute_not_open' });
  });

  it('is not submitted where too little time is left to hear of it, and the same request submits it [D14.253]', async () => {
    const { scope, id } = await disputed();
    const evidence = { product_description: 'A thermometer' };
    const update = (submit: boolean, timeoutMs: number) =>
      on.refunds.updateDispute({ id, evidence, submit }, { ...on.as(scope), timeoutMs });
    await expect(update(true, 6_000)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await read(scope, id)).toMatchObject({ status: 'needs_response', hasEvidence: false, submissionCount: 0 });
    expect(await update(false, 6_000)).toMatchObject({ status: 'needs_response', evidence });
    expect(await update(true, 9_200)).toMatchObject({ status: 'under_review', submissionCount: 1 });
  });

  it('keeps a change that was made before the process stopped [D14.125]', async () => {
    const { scope, id } = await disputed();
    armFailpoint('dispute.after_change', { action: 'error' });
    await expect(on.refunds.closeDispute({ id }, on.as(scope))).rejects.toThrow();
    turnFailpointsOff();
    await on.restart();
    await on.lookAtDisputes();
    expect(await read(scope, id)).toMatchObject({ status: 'lost' });
    expect((await eventsOf(on, id)).filter((type) => type === 'charge.dispute.closed')).toHaveLength(1);
  });

  it('tells checkout again when its answer was lost, and counts once [D14.122]', async () => {
    const { scope, card } = await paid();
    const opened = await on.port(scope).testBank.disputeCharge({ chargeId: card.processorChargeId });
    if (opened.kind !== 'found') throw new Error('no dispute');
    on.checkout.trouble('lost_after');
    await on.arrives(scope, 'charge.dispute.created', opened.disputeId);
    await on.handleEvents();
    await on.lookAtDisputes();
    const { disputes } = await on.refunds.listDisputes({ chargeId: card.chargeId }, on.as(scope));
    const told = on.checkout.disputes.get(disputes[0]?.disputeId ?? '');
    expect(told).toMatchObject({ held: 2_000n, told: 2 });
  });

  it.each([
    ['does not hear', 'lost_before'],
    ['hears late', 'late'],
  ] as const)(
    'answers what the bank took although checkout %s of it, and tells checkout soon [D14.125]',
    async (_, trouble) => {
      const { scope, id } = await disputed();
      on.checkout.trouble(trouble);
      const won = { id, evidence: { uncategorized_text: 'winning_evidence' }, submit: true };
      expect(await on.refunds.updateDispute(won, on.as(scope))).toMatchObject({ status: 'won', submissionCount: 1 });
      expect(heldOf(id)).toBe(2_000n);
      await on.lookAtDisputes();
      expect(heldOf(id)).toBe(0n);
      on.checkout.delivers();
      expect(heldOf(id)).toBe(0n);
      expect((await eventsOf(on, id)).filter((type) => type === 'charge.dispute.closed')).toHaveLength(1);
    },
  );
});
