/** One short statement, sent under a name so that it is parsed once for each connection. */
export interface FloorStatement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The identifiers of one sale: whatever the operations write of it is named after its number. */
export interface Sale {
  readonly id: string;
}

const account = 'facct_01bench';

/** As long as what Eligo keeps in the same places. */
const answer = JSON.stringify({ checkout_session: 'x'.repeat(2_400) });
const event = 'x'.repeat(500);
const details = JSON.stringify({
  shipping: { rate: 'ground', amount: 799 },
  tax: 825,
  fees: [{ name: 'Handling', amount: 150 }],
});
const decision = JSON.stringify({
  basis: 'catalog',
  lines: [1, 2, 3].map((line) => ({ line, reason: 'x'.repeat(60) })),
});

/** The session, its lines, its eligibility record and the key with the answer: one transaction. */
export function createStatements({ id }: Sale): FloorStatement[] {
  const line = (at: number) => [`fprice_${at}`, 'Blood pressure monitor', at, 4_999 * at, at !== 2];
  return [
    statement(
      'key_answered',
      'insert into keys (account_id, key, request_hash, status, body) values ($1, $2, $3, 200, $4)',
      [...[`create_${id}`, `hash_${id}`, answer]],
    ),
    statement(
      'session',
      `insert into sessions (account_id, id, status, customer_id, success_url, amount_total, amount_eligible, details)
       values ($1, $2, 'open', $3, 'https://shop.example/done', 22772, 19996, $4)`,
      [id, `fcus_${id}`, details],
    ),
    statement(
      'lines',
      `insert into session_lines (account_id, session_id, position, price_id, name, quantity, amount, is_eligible)
       values ($1, $2, 1, $3, $4, $5, $6, $7), ($1, $2, 2, $8, $9, $10, $11, $12), ($1, $2, 3, $13, $14, $15, $16, $17)`,
      [id, ...line(1), ...line(2), ...line(3)],
    ),
    statement(
      'record',
      'insert into eligibility_records (account_id, id, session_id, decision) values ($1, $2, $3, $4)',
      [...[`felig_${id}`, id, decision]],
    ),
  ];
}

/** The claim of a confirm: who asked, and what the processor is going to be asked. */
export function confirmClaim({ id }: Sale): FloorStatement[] {
  return [claimKey(`confirm_${id}`), intent(id, id), attempt(`charge_${id}`, id)];
}

/** The fence: the processor's intent is known before anything is confirmed. */
export function fence({ id }: Sale, processorId: string): FloorStatement[] {
  return [
    statement('fence', `update attempts set processor_id = $3, updated_at = now() where account_id = $1 and id = $2`, [
      ...[`charge_${id}`, processorId],
    ]),
  ];
}

/** What a charge settles. */
export function confirmSettle({ id }: Sale): FloorStatement[] {
  return [
    endAttempt(`charge_${id}`),
    charge(id),
    statement(
      'session_paid',
      `update sessions set status = 'complete', amount_received = amount_eligible, payment_method_id = $3, updated_at = now()
       where account_id = $1 and id = $2`,
      [id, `fpm_${id}`],
    ),
    ledger(`sale_${id}`),
    outbox(id, 'confirm'),
    answerKey(`confirm_${id}`),
  ];
}

/** The claim of a refund. */
export function refundClaim({ id }: Sale): FloorStatement[] {
  return [
    claimKey(`refund_${id}`),
    statement(
      'refund',
      `insert into refunds (account_id, id, session_id, amount, status) values ($1, $2, $3, 19996, 'pending')`,
      [...[`fre_${id}`, id]],
    ),
    attempt(`refund_${id}`, `fre_${id}`),
  ];
}

/** What a refund settles. */
export function refundSettle({ id }: Sale): FloorStatement[] {
  return [
    endAttempt(`refund_${id}`),
    statement('refund_done', `update refunds set status = 'succeeded' where account_id = $1 and id = $2`, [
      `fre_${id}`,
    ]),
    statement('charge_refunded', 'update charges set amount_refunded = amount where account_id = $1 and id = $2', [
      `fch_${id}`,
    ]),
    statement(
      'session_refunded',
      'update sessions set amount_refunded = amount_received, updated_at = now() where account_id = $1 and id = $2',
      [id],
    ),
    ledger(`refund_${id}`),
    outbox(id, 'refund'),
    answerKey(`refund_${id}`),
  ];
}

/** A subscription, so that there is one to renew. */
export function subscribeStatements({ id }: Sale): FloorStatement[] {
  return [
    statement(
      'subscription',
      `insert into subscriptions (account_id, id, status, customer_id, payment_method_id, period_start, period_end)
       values ($1, $2, 'active', $3, $4, now() - interval '7 days', now())`,
      [id, `fcus_${id}`, `fpm_${id}`],
    ),
  ];
}

/** The claim of a renewal: the next period with its invoice, and what the processor is going to be asked. */
export function renewalClaim({ id }: Sale): FloorStatement[] {
  return [
    statement(
      'next_period',
      `update subscriptions set period_start = period_end, period_end = period_end + interval '7 days', invoice_id = $3
       where account_id = $1 and id = $2`,
      [id, `fin_${id}`],
    ),
    statement(
      'invoice',
      `insert into invoices (account_id, id, subscription_id, number, status, total, period_start, period_end)
       values ($1, $2, $3, 1, 'open', 19996, now(), now() + interval '7 days')`,
      [`fin_${id}`, id],
    ),
    statement(
      'invoice_line',
      `insert into invoice_lines (account_id, invoice_id, position, price_id, name, quantity, amount, decision)
       values ($1, $2, 0, 'fprice_1', 'Blood pressure monitor', 1, 19996, $3)`,
      [`fin_${id}`, decision],
    ),
    intent(id, `fin_${id}`),
    attempt(`charge_${id}`, `fin_${id}`),
    outbox(id, 'renew'),
  ];
}

/** What the charge of a renewal settles. */
export function renewalSettle({ id }: Sale): FloorStatement[] {
  return [
    endAttempt(`charge_${id}`),
    charge(id),
    statement(
      'invoice_paid',
      `update invoices set status = 'paid', paid = total, intent_id = $3, paid_at = now() where account_id = $1 and id = $2`,
      [`fin_${id}`, `fpi_${id}`],
    ),
    ledger(`renewal_${id}`),
    outbox(id, 'settle'),
  ];
}

function claimKey(key: string): FloorStatement {
  return statement('key', 'insert into keys (account_id, key, request_hash) values ($1, $2, $3)', [key, `hash_${key}`]);
}

function answerKey(key: string): FloorStatement {
  return statement('key_answer', 'update keys set status = 200, body = $3 where account_id = $1 and key = $2', [
    key,
    answer,
  ]);
}

function intent(id: string, subject: string): FloorStatement {
  return statement(
    'intent',
    `insert into intents (account_id, id, session_id, amount, status) values ($1, $2, $3, 19996, 'processing')`,
    [...[`fpi_${id}`, subject]],
  );
}

function charge(id: string): FloorStatement {
  return statement(
    'charge',
    'insert into charges (account_id, id, intent_id, amount, processor_id) values ($1, $2, $3, 19996, $4)',
    [...[`fch_${id}`, `fpi_${id}`, `ch_${id}`]],
  );
}

function attempt(id: string, subject: string): FloorStatement {
  return statement(
    'attempt',
    `insert into attempts (account_id, id, subject_id, status) values ($1, $2, $3, 'claimed')`,
    [...[id, subject]],
  );
}

function endAttempt(id: string): FloorStatement {
  return statement(
    'attempt_done',
    `update attempts set status = 'succeeded', updated_at = now() where account_id = $1 and id = $2`,
    [id],
  );
}

function ledger(id: string): FloorStatement {
  return statement(
    'ledger',
    `insert into ledger (account_id, id, side, account, amount)
     values ($1, $2, 'debit', 'processor', 19996), ($1, $2, 'credit', 'sales', 19996)`,
    [id],
  );
}

function outbox(id: string, what: string): FloorStatement {
  const events = [1, 2, 3, 4].map((at) => `fevt_${what}_${at}_${id}`);
  return statement(
    'outbox',
    `insert into outbox (account_id, event_id, aggregate_id, type, payload)
     values ($1, $2, $6, 'one', $7), ($1, $3, $6, 'two', $7), ($1, $4, $6, 'three', $7), ($1, $5, $6, 'four', $7)`,
    [...events, id, event],
  );
}

function statement(name: string, text: string, values: readonly unknown[]): FloorStatement {
  return { name, text, values: [account, ...values] };
}
